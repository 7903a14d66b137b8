import {
  AIMessage,
  type BaseMessage,
  ChatMessage,
  HumanMessage,
  isAIMessage,
  mapStoredMessageToChatMessage,
  type StoredMessage,
  SystemMessage,
} from '@langchain/core/messages';
import { getRole, type Message, toItemFields } from '@memoryd/client/session';
import type { Memory } from '@memoryd/contract';
import { removeTexts, restoreTexts } from './stored-content.ts';

/**
 * Roles by LangChain message type. A message of the type `generic` has its own role. For other types, the role is the
 * type.
 */
const ROLES: Readonly<Record<string, string>> = { human: 'user', ai: 'assistant' };

/** Message types that LangChain can restore. Other types are instructions to a graph and have no content. */
const SUPPORTED_TYPES: readonly unknown[] = ['human', 'ai', 'system', 'tool', 'function', 'generic'];

/** Maximum UTF-16 units of the arguments of a tool call in the description of a message without text. */
const MAX_DESCRIBED_CHARS = 1000;

/**
 * Converts a LangChain message to a message for storage: its text as content, everything else as metadata or, if it is
 * large, as attachment.
 *
 * @param index index of the message in the call, for errors
 * @throws TypeError for a message type that LangChain could not restore, and MemoryError INVALID_REQUEST for a message
 *   with more than 1 MiB of JSON besides its text
 */
export function toStoredMessage(message: BaseMessage, index: number): Message {
  const { type, data } = message.toDict();
  if (!SUPPORTED_TYPES.includes(type))
    throw new TypeError(
      `messages of type ${type} cannot be stored in a chat history; use human, ai, system, tool, function or generic`,
    );
  const content = getText(message);
  // If a message was created with `contentBlocks`, LangChain serializes the content as `content_blocks`.
  const { content_blocks: _blocks, ...rest } = data as typeof data & { content_blocks?: unknown };
  // Content that equals the text is null, so that it keeps its place among the fields.
  const stored = { type, data: { ...rest, content: removeTexts(message.content, content) ?? null } };
  const role = type === 'generic' ? data.role : undefined;
  return { role: role ?? ROLES[type] ?? type, content, ...toItemFields({ langchain: stored }, `messages/${index}`) };
}

/** Restores the message from a memory; undefined if the memory is not a message. */
export function toMessage({
  content,
  tags,
  metadata,
}: Pick<Memory, 'content' | 'tags' | 'metadata'>): BaseMessage | undefined {
  const message = isStoredMessage(metadata.langchain) ? restoreMessage(metadata.langchain, content) : undefined;
  if (message) return message;
  const role = getRole(tags);
  return role === undefined ? undefined : createMessage(role, content);
}

/** Restores a message. Returns undefined if the metadata is invalid, because any program can write to the session. */
function restoreMessage({ type, data }: StoredMessage, text: string): BaseMessage | undefined {
  try {
    // LangChain's type of a stored message allows only strings as content.
    const complete = { ...data, content: restoreTexts(data.content, text) as string };
    const message = mapStoredMessageToChatMessage({ type, data: complete });
    // LangChain validates parts of a message only when `text` is read.
    return typeof message.text === 'string' ? message : undefined;
  } catch {
    return undefined;
  }
}

function createMessage(role: string, content: string): BaseMessage {
  if (role === 'user') return new HumanMessage(content);
  if (role === 'assistant') return new AIMessage(content);
  return role === 'system' ? new SystemMessage(content) : new ChatMessage(content, role);
}

/**
 * Returns the text of a message. If the text is blank, describes the tool calls or parts of the message instead,
 * because a memory must not be blank.
 */
function getText(message: BaseMessage): string {
  if (message.text.trim() !== '') return message.text;
  const calls = isAIMessage(message) ? (message.tool_calls ?? []) : [];
  if (calls.length > 0) return calls.map(({ name, args }) => `${name}(${shorten(JSON.stringify(args))})`).join('\n');
  const parts = Array.isArray(message.content) ? message.content.map(({ type }) => type) : [];
  return `[${parts.join(', ') || 'nothing'}]`;
}

/** Shortens a description of data, such as a file as an argument: only text is worth recalling. */
function shorten(data: string): string {
  return data.length > MAX_DESCRIBED_CHARS ? `${data.slice(0, MAX_DESCRIBED_CHARS).toWellFormed()}…` : data;
}

function isStoredMessage(value: unknown): value is StoredMessage {
  if (!isObject(value) || !('type' in value && 'data' in value)) return false;
  return (
    SUPPORTED_TYPES.includes(value.type) &&
    isObject(value.data) &&
    isContent((value.data as { content?: unknown }).content)
  );
}

function isContent(value: unknown): boolean {
  return (
    value === undefined ||
    value === null ||
    typeof value === 'string' ||
    (Array.isArray(value) && value.every(isObject))
  );
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
