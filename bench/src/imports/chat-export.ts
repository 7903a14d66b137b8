import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { StoreRequest } from '@memoryd/contract';
import { createGeneratedDialogue } from '../latency/generated-dialogue.ts';

const MESSAGES_PER_CONVERSATION = 50;
const FIRST_SECOND = Date.UTC(2024, 0, 1) / 1000;
const SECONDS_BETWEEN = 90;

/** A conversation of generated turns: its number, and the range of its messages. */
interface Conversation {
  number: number;
  first: number;
  end: number;
}

function* getConversations(count: number): Iterable<Conversation> {
  for (let first = 0; first < count; first += MESSAGES_PER_CONVERSATION) {
    const number = first / MESSAGES_PER_CONVERSATION;
    yield { number, first, end: Math.min(count, first + MESSAGES_PER_CONVERSATION) };
  }
}

/** Writes a ChatGPT export of generated messages, conversation by conversation. */
export async function writeChatExport(path: string, count: number, seed: number): Promise<void> {
  const dialogue = createGeneratedDialogue(seed);
  function* write(): Iterable<string> {
    for (const conversation of getConversations(count)) {
      yield `${conversation.number === 0 ? '[' : ',\n'}${JSON.stringify(toExport(conversation))}`;
    }
    yield ']';
  }
  await pipeline(Readable.from(write()), createWriteStream(path));

  function toExport({ number, first, end }: Conversation): object {
    const nodes: [string, object][] = [['root', { id: 'root', message: null, parent: null, children: [`m${first}`] }]];
    for (let at = first; at < end; at++) {
      const message = {
        ...{ id: `m${at}`, author: { role: getRole(at) }, create_time: getSecond(at), weight: 1, metadata: {} },
        content: { content_type: 'text', parts: [dialogue.turn(at).content] },
      };
      const parent = at === first ? 'root' : `m${at - 1}`;
      const children = at + 1 < end ? [`m${at + 1}`] : [];
      nodes.push([`m${at}`, { id: `m${at}`, message, parent, children }]);
    }
    return {
      ...{ conversation_id: `c${number}`, id: `c${number}`, title: `Conversation ${number}` },
      ...{ create_time: getSecond(first), update_time: getSecond(end), current_node: `m${end - 1}` },
      mapping: Object.fromEntries(nodes),
    };
  }
}

/** Returns the memories that an import of the export stores, to store in batches. */
export function* getChatMemories(count: number, seed: number): Iterable<StoreRequest> {
  const dialogue = createGeneratedDialogue(seed);
  for (const { number, first, end } of getConversations(count)) {
    for (let at = first; at < end; at++) {
      yield {
        content: dialogue.turn(at).content,
        tags: [`role:${getRole(at)}`],
        source: 'chatgpt',
        session_id: `chatgpt:c${number}`,
        external_id: `chatgpt:c${number}/m${at}`,
        created_at: new Date(getSecond(at) * 1000).toISOString(),
        metadata: { title: `Conversation ${number}` },
      };
    }
  }
}

function getRole(at: number): string {
  return at % 2 === 0 ? 'user' : 'assistant';
}

function getSecond(at: number): number {
  return FIRST_SECOND + at * SECONDS_BETWEEN;
}
