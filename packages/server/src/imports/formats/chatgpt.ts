import { createSessionId } from '../../hooks/keys.ts';
import type { Format, LeftOutReason, Part } from '../format.ts';
import { LeftOutCounts } from '../left-out-counts.ts';
import { isObject, toContent, toExternalId, toLabel, toMetadata, toTextPart } from '../parsing/fields.ts';
import { readJsonValues } from '../parsing/read-json.ts';
import { toImportedTime } from '../parsing/times.ts';
import { removeMarks } from './chatgpt-marks.ts';
import { getConversationPath, type PathNode } from './conversation-path.ts';

type Json = Record<string, unknown>;

/** Longer titles are cut. */
const MAX_TITLE_CHARS = 256;

interface ChatNode extends PathNode {
  id: string;
  /** Null for the root of most conversations. */
  message: unknown;
}

const INSTRUCTIONS: ReadonlySet<unknown> = new Set(['user_editable_context', 'model_editable_context', 'system_error']);
const THOUGHTS: ReadonlySet<unknown> = new Set(['thoughts', 'reasoning_recap']);
const TOOL_CONTENT: ReadonlySet<unknown> = new Set([
  ...['code', 'execution_output', 'computer_output'],
  ...['tether_quote', 'tether_browsing_display', 'tether_browsing_code', 'sonic_webpage'],
]);

/** The export of ChatGPT: an array of conversations, each a tree of messages. */
export const chatgpt: Format = {
  name: 'chatgpt',
  title: 'ChatGPT export',
  files: 'conversations.json or conversations-000.json and so on, or the zip with them',
  recognizes: ({ text }) =>
    /^\s*[[{]/.test(text) &&
    /"mapping"\s*:/.test(text) &&
    /"(?:create_time|current_node|conversation_id|message)"\s*:/.test(text),
  async *read(file) {
    for await (const found of readJsonValues(file.open(), ['*', '$'])) {
      const place = found.place === '*' ? `conversation ${found.number}` : file.path;
      if ('refused' in found) yield { kind: 'refused', place, reason: found.refused };
      else yield* readConversation(found.value, place);
    }
  },
};

function* readConversation(value: unknown, place: string): Generator<Part> {
  if (!isObject(value)) {
    yield { kind: 'refused', place, reason: 'a conversation must be an object' };
  } else if (!isObject(value.mapping)) {
    yield { kind: 'refused', place, reason: 'mapping must be an object with the messages of the conversation' };
  } else {
    const nodes = toNodes(value.mapping);
    const path = getConversationPath(nodes, value.current_node);
    const leftOut = new LeftOutCounts();
    yield* readPath(path, value, place, leftOut);
    for (const { id } of path) nodes.delete(id);
    for (const { message } of nodes.values()) if (isObject(message)) leftOut.add(getReason(message) ?? 'branch');
    yield* leftOut.toParts();
  }
}

/** Reads the messages of the branch that the conversation shows. */
function* readPath(path: readonly ChatNode[], chat: Json, place: string, leftOut: LeftOutCounts): Generator<Part> {
  const conversation = toContent(chat.conversation_id) ?? toContent(chat.id) ?? path[0]?.id ?? '';
  const metadata = toMetadata({ title: toLabel(chat.title, MAX_TITLE_CHARS) });
  let createdAt = toTime(chat.create_time);
  for (const [index, { id, message }] of path.entries()) {
    const messagePlace = `${place}, message ${index + 1}`;
    if (!isObject(message)) {
      const isAbsent = message === null || message === undefined;
      if (!isAbsent) yield { kind: 'refused', place: messagePlace, reason: 'message must be an object or null' };
      continue;
    }
    createdAt = toTime(message.create_time) ?? createdAt;
    const content = readMessage(message, leftOut);
    if (content === undefined) continue;
    yield toTextPart(messagePlace, {
      content,
      external_id: toExternalId('chatgpt', `${conversation}/${toContent(message.id) ?? id}`),
      session_id: createSessionId('chatgpt', conversation),
      source: 'chatgpt',
      tags: [`role:${getRole(message)}`],
      created_at: createdAt,
      metadata,
    });
  }
}

/**
 * Returns the messages by their ids. A node that names no known parent belongs to the node that names it as a child.
 */
function toNodes(mapping: Json): Map<string, ChatNode> {
  const parents = new Map<unknown, string>();
  for (const [id, node] of Object.entries(mapping)) {
    const { children } = isObject(node) ? node : {};
    if (Array.isArray(children)) for (const child of children) parents.set(child, id);
  }
  const toParent = (id: string, parent: unknown) => {
    if (typeof parent === 'string' && Object.hasOwn(mapping, parent)) return parent;
    return parents.get(parent) ?? parents.get(id);
  };
  const toNode = (id: string, { parent, message }: Json): ChatNode => {
    const time = isObject(message) ? message.create_time : undefined;
    return { id, message, parent: toParent(id, parent), time: typeof time === 'number' ? time : undefined };
  };
  return new Map(Object.entries(mapping).map(([id, node]) => [id, toNode(id, isObject(node) ? node : {})]));
}

/** Returns a time of a message or conversation. ChatGPT writes null or 0 for an unknown time. */
function toTime(value: unknown): string | undefined {
  return value === 0 ? undefined : toImportedTime(value);
}

/** Returns the text of a message. For a message without text, counts the reason and returns undefined. */
function readMessage(message: Json, leftOut: LeftOutCounts): string | undefined {
  const reason = getReason(message);
  if (reason !== undefined) {
    leftOut.add(reason);
    return undefined;
  }
  const { text, attachmentCount } = readContent(message);
  leftOut.add('attachment', attachmentCount);
  const content = toContent(getRole(message) === 'assistant' ? removeMarks(text) : text)?.trim();
  if (content === undefined && attachmentCount === 0) leftOut.add('empty');
  return content;
}

/** Returns the reason for leaving out a message; undefined for a message that becomes a memory. */
function getReason(message: Json): LeftOutReason | undefined {
  const metadata = isObject(message.metadata) ? message.metadata : {};
  const type = isObject(message.content) ? message.content.content_type : undefined;
  const role = getRole(message);
  const isThought = THOUGHTS.has(type) || message.channel === 'analysis';
  if (isThought || metadata.is_thinking_preamble_message === true) return 'thought';
  if (role === 'system' || INSTRUCTIONS.has(type) || metadata.is_user_system_message === true) return 'system';
  const isCall = role === 'assistant' && typeof message.recipient === 'string' && message.recipient !== 'all';
  if (role === 'tool' || isCall || TOOL_CONTENT.has(type)) return 'tool';
  if (metadata.is_visually_hidden_from_conversation === true || message.weight === 0) return 'hidden';
  return role === 'user' || role === 'assistant' ? undefined : 'role';
}

function getRole({ author }: Json): unknown {
  return isObject(author) ? author.role : undefined;
}

/**
 * Returns the text of all parts, with the transcripts of spoken ones, and the number of parts and files without text.
 */
function readContent({ content, metadata }: Json): { text: string; attachmentCount: number } {
  const { parts, text } = isObject(content) ? content : {};
  const all: unknown[] = Array.isArray(parts) ? parts : [text];
  const texts = all.map((part) => (isObject(part) ? part.text : part)).filter((part) => typeof part === 'string');
  const withoutText = all.filter((part) => isObject(part) && typeof part.text !== 'string').length;
  // The list of attachments has the images among the parts, too.
  const files = isObject(metadata) && Array.isArray(metadata.attachments) ? metadata.attachments.length : 0;
  return { text: texts.join('\n'), attachmentCount: Math.max(withoutText, files) };
}
