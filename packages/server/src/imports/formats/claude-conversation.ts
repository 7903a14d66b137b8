import { LIMITS } from '@memoryd/contract';
import { createSessionId, digest } from '../../hooks/keys.ts';
import type { LeftOutReason, Part } from '../format.ts';
import { LeftOutCounts } from '../left-out-counts.ts';
import { isObject, toContent, toExternalId, toLabel, toMetadata, toTextPart } from '../parsing/fields.ts';
import { toImportedTime } from '../parsing/times.ts';
import { getConversationPath, type PathNode } from './conversation-path.ts';

type Json = Record<string, unknown>;

interface ChatNode extends PathNode {
  id: string;
  message: Json;
  /** The number of the message in the file, from 1. */
  number: number;
}

/** Longer titles are cut. */
const MAX_TITLE_CHARS = 256;

/** The parent of a first message: `00000000-0000-4000-8000-000000000000`. */
const ROOT = /^0{8}-0{4}-/;

/** Replaces each call of a tool and its result in `text`. */
const UNSUPPORTED_BLOCK = /(?:^|\n)```\nThis block is not supported on your current device yet\.\n```(?=\n|$)/g;

/** Blocks that are no text of the person or the model. */
const BLOCK_REASONS: ReadonlyMap<unknown, LeftOutReason> = new Map([
  ['thinking', 'thought'],
  ['redacted_thinking', 'thought'],
  ['tool_use', 'tool'],
  ['tool_result', 'tool'],
  ['tool_call', 'tool'],
  ['image', 'attachment'],
  ['document', 'attachment'],
]);

const ROLES: ReadonlyMap<unknown, string> = new Map([
  ['human', 'user'],
  ['user', 'user'],
  ['assistant', 'assistant'],
]);

/** Returns a conversation about a design in the form of other conversations. */
export function toConversation(value: Json): Json {
  if (!Array.isArray(value.messages)) return value;
  return { ...value, name: value.title, chat_messages: value.messages.flatMap(toMessages) };
}

/** Returns a message about a design, and then the messages that the person wrote while the model answered. */
function toMessages(message: unknown): unknown[] {
  if (!isObject(message) || !isObject(message.content)) return [message];
  const { contentBlocks, content, timestamp, attachments } = message.content;
  const { uuid, role, created_at = timestamp } = message;
  const isInterjection = (block: unknown) => isObject(block) && block.type === 'user_interjection';
  const interjections = toArray(contentBlocks).filter(isInterjection) as Json[];
  return [
    {
      ...{ uuid, created_at, sender: role, text: content },
      content: toArray(contentBlocks).filter((block) => !isInterjection(block)),
      attachments: toArray(attachments).map((file) =>
        isObject(file) ? { file_name: file.name, extracted_content: file.content } : file,
      ),
    },
    ...interjections.map(({ message: said }, index) => ({
      ...{
        created_at,
        sender: 'human',
        uuid: typeof uuid === 'string' ? `${uuid}/interjection/${index + 1}` : undefined,
      },
      text: isObject(said) ? said.content : said,
    })),
  ];
}

/** Reads the messages of the branch that a conversation shows, and the texts of their attachments. */
export function* readClaudeConversation(chat: Json, place: string): Generator<Part> {
  if (!Array.isArray(chat.chat_messages)) {
    yield { kind: 'refused', place, reason: 'chat_messages must be an array' };
    return;
  }
  const leftOut = new LeftOutCounts();
  const nodes = new Map<string, ChatNode>();
  for (const [index, message] of chat.chat_messages.entries()) {
    const number = index + 1;
    if (isObject(message)) addNode(nodes, message, number, leftOut);
    else yield { kind: 'refused', place: `${place}, message ${number}`, reason: 'a message must be an object' };
  }
  setParents(nodes);
  const path = getConversationPath(nodes, chat.current_leaf_message_uuid);
  yield* readPath(path, chat, place, leftOut);
  for (const { id } of path) nodes.delete(id);
  for (const { message } of nodes.values()) leftOut.add(ROLES.has(message.sender) ? 'branch' : 'role');
  yield* leftOut.toParts();
}

function addNode(nodes: Map<string, ChatNode>, message: Json, number: number, leftOut: LeftOutCounts): void {
  const { sender, created_at, text, content } = message;
  const id = toContent(message.uuid) ?? digest(JSON.stringify([sender, created_at, text, content]));
  if (nodes.has(id)) {
    leftOut.add('duplicate');
    return;
  }
  const time = Date.parse(toImportedTime(created_at) ?? '');
  nodes.set(id, { id, message, number, parent: undefined, time: Number.isNaN(time) ? undefined : time });
}

/** Former exports name no parents: each message follows the one before it in the file. */
function setParents(nodes: ReadonlyMap<string, ChatNode>): void {
  let previous: string | undefined;
  for (const [id, node] of nodes) {
    const parent = node.message.parent_message_uuid;
    const isNamed = typeof parent === 'string' && (ROOT.test(parent) || nodes.has(parent));
    node.parent = isNamed ? parent : previous;
    previous = id;
  }
}

function* readPath(path: readonly ChatNode[], chat: Json, place: string, leftOut: LeftOutCounts): Generator<Part> {
  const session_id = createSessionId('claude', toContent(chat.uuid) ?? path[0]?.id ?? '');
  const title = toLabel(chat.name, MAX_TITLE_CHARS);
  let createdAt = toImportedTime(chat.created_at);
  for (const { id, message, number } of path) {
    createdAt = toImportedTime(message.created_at) ?? createdAt;
    const role = ROLES.get(message.sender);
    if (role === undefined) {
      leftOut.add('role');
      continue;
    }
    const shared = { session_id, source: 'claude', created_at: createdAt };
    const tags = [`role:${role}`];
    const messagePlace = `${place}, message ${number}`;
    const content = readText(message, leftOut);
    if (content !== undefined) {
      const external_id = toExternalId('claude', id);
      yield toTextPart(messagePlace, { ...shared, content, external_id, tags, metadata: toMetadata({ title }) });
    }
    for (const { index, name, text } of readAttachments(message, leftOut)) {
      yield toTextPart(`${messagePlace}, attachment ${index}`, {
        ...shared,
        content: text,
        external_id: toExternalId('claude', `${id}/attachment/${index}`),
        tags: [...tags, 'attachment'],
        metadata: toMetadata({ title, file_name: name }),
      });
    }
  }
}

/** Returns the texts of the attachments, numbered from 1. Counts attachments and files without text. */
function* readAttachments(message: Json, leftOut: LeftOutCounts) {
  for (const [at, attachment] of toArray(message.attachments).entries()) {
    const { file_name, extracted_content } = isObject(attachment) ? attachment : {};
    const text = toContent(extracted_content);
    if (text === undefined) leftOut.add('attachment');
    else yield { index: at + 1, name: toLabel(file_name, LIMITS.sourceChars), text };
  }
  leftOut.add('attachment', countFiles(message));
}

/** Returns the number of files without text. `files_v2` lists the files of `files` again. */
function countFiles({ files, files_v2 }: Json): number {
  return Math.max(toArray(files).length, toArray(files_v2).length);
}

/** Returns the text of a message. Counts its blocks of other kinds, and messages without blocks and text. */
function readText(message: Json, leftOut: LeftOutCounts): string | undefined {
  const { content, text } = message;
  // `text` also has the thoughts of the model, so it is used only if there are no blocks.
  if (Array.isArray(content) && content.length > 0) return toContent(readBlocks(content, leftOut))?.trim();
  const flat = typeof content === 'string' ? content : text;
  const parts = typeof flat === 'string' ? flat.split(UNSUPPORTED_BLOCK) : [''];
  leftOut.add('tool', parts.length - 1);
  const found = toContent(parts.join('\n'))?.trim();
  const isEmpty = found === undefined && parts.length === 1 && countFiles(message) === 0;
  if (isEmpty && toArray(message.attachments).length === 0) leftOut.add('empty');
  return found;
}

function readBlocks(blocks: readonly unknown[], leftOut: LeftOutCounts): string {
  const texts: string[] = [];
  for (const block of blocks) {
    const { type, text } = isObject(block) ? block : {};
    const reason = BLOCK_REASONS.get(type);
    if (reason === undefined && typeof text === 'string') texts.push(text);
    else if (isObject(block)) leftOut.add(reason ?? 'system');
  }
  return texts.join('\n\n');
}

function toArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
