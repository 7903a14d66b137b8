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
import { getRole, type Message } from '@memoryd/client/session';
import type { Memory } from '@memoryd/contract';
import { removeTexts, restoreTexts } from './stored-content.ts';

/**
 * Roles by LangChain message type. A message of the type `generic` has its own role. For other types, the role is the
 * type.
 */
const ROLES: Readonly<Record<string, string>> = { human: 'user', ai: 'assistant' };

/** Message types that LangChain can restore. Other types are instructions to a graph and have no content. */
const SUPPORTED_TYPES: readonly unknown[] = ['human', 'ai', 'system', 'tool', 'function', 'generic'];

/**
 * Converts a LangChain message to a message for storage: its text as content, everything else as metadata.
 *
 * @throws TypeError for a message type that LangChain could not restore
 */
export function toStoredMessage(message: BaseMessage): Message {
  const { type, data } = message.toDict();
  if (!SUPPORTED_TYPES.includes(type))
    throw new TypeError(
      `messages of type ${type} cannot be stored in a chat history; use human, ai, system, tool, function or generic`,
    );
  const content = getText(message);
  // If a message was created with `contentBlocks`, LangChain serializes the content as `content_blocks`.
  const { content: _content, content_blocks: _blocks, ...rest } = data as typeof data & { content_blocks?: unknown };
  const stored = { type, data: { ...rest, content: removeTexts(message.content, content) } };
  const role = type === 'generic' ? data.role : undefined;
  // The JSON round trip removes undefined fields, which metadata must not contain.
  return { role: role ?? ROLES[type] ?? type, content, metadata: { langchain: JSON.parse(JSON.stringify(stored)) } };
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
  if (calls.length > 0) return calls.map(({ name, args }) => `${name}(${JSON.stringify(args)})`).join('\n');
  const parts = Array.isArray(message.content) ? message.content.map(({ type }) => type) : [];
  return `[${parts.join(', ') || 'nothing'}]`;
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
  return value === undefined || typeof value === 'string' || (Array.isArray(value) && value.every(isObject));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
