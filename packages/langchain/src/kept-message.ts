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
import { withoutTexts, withTexts } from './kept-content.ts';

/** Names of roles that memories have, by LangChain's types of messages; others have their own. */
const ROLES: Readonly<Record<string, string>> = { human: 'user', ai: 'assistant' };

/** Types of messages that LangChain makes again of what is kept of them. Others tell a graph what to do, and say nothing. */
const KEPT_TYPES: readonly unknown[] = ['human', 'ai', 'system', 'tool', 'function', 'generic'];

/**
 * A message as it is kept: what it says as the text, and everything else as metadata.
 *
 * @throws TypeError for one that could not be given back
 */
export function toKept(message: BaseMessage): Message {
  const { type, data } = message.toDict();
  if (!KEPT_TYPES.includes(type)) throw new TypeError(`a history keeps no messages of the type ${type}`);
  const content = getText(message);
  // LangChain says content by another name where it was given as `contentBlocks`.
  const { content: _said, content_blocks: _blocks, ...rest } = data as typeof data & { content_blocks?: unknown };
  const stored = { type, data: { ...rest, content: withoutTexts(message.content, content) } };
  const role = type === 'generic' ? data.role : undefined;
  // As JSON says it: without fields that are undefined, which no metadata may hold.
  return { role: role ?? ROLES[type] ?? type, content, metadata: { langchain: JSON.parse(JSON.stringify(stored)) } };
}

/** The message that a memory keeps; undefined where nobody said it. */
export function toMessage({
  content,
  tags,
  metadata,
}: Pick<Memory, 'content' | 'tags' | 'metadata'>): BaseMessage | undefined {
  const kept = isStored(metadata.langchain) ? restored(metadata.langchain, content) : undefined;
  if (kept) return kept;
  const role = getRole(tags);
  return role === undefined ? undefined : getMessage(role, content);
}

/** A message again; undefined where what is kept is none: whoever writes into the session can say that of anything. */
function restored({ type, data }: StoredMessage, said: string): BaseMessage | undefined {
  try {
    // LangChain's type of what is kept knows contents that are texts alone.
    const whole = { ...data, content: withTexts(data.content, said) as string };
    const message = mapStoredMessageToChatMessage({ type, data: whole });
    // LangChain looks at some of what a message holds only when it is read.
    return typeof message.text === 'string' ? message : undefined;
  } catch {
    return undefined;
  }
}

function getMessage(role: string, content: string): BaseMessage {
  if (role === 'user') return new HumanMessage(content);
  if (role === 'assistant') return new AIMessage(content);
  return role === 'system' ? new SystemMessage(content) : new ChatMessage(content, role);
}

/** What a message says; where it says nothing, what it does or holds, since no memory is blank. */
function getText(message: BaseMessage): string {
  if (message.text.trim() !== '') return message.text;
  const calls = isAIMessage(message) ? (message.tool_calls ?? []) : [];
  if (calls.length > 0) return calls.map(({ name, args }) => `${name}(${JSON.stringify(args)})`).join('\n');
  const parts = Array.isArray(message.content) ? message.content.map(({ type }) => type) : [];
  return `[${parts.join(', ') || 'nothing'}]`;
}

function isStored(value: unknown): value is StoredMessage {
  if (!isObject(value) || !('type' in value && 'data' in value)) return false;
  return (
    KEPT_TYPES.includes(value.type) && isObject(value.data) && isContent((value.data as { content?: unknown }).content)
  );
}

function isContent(value: unknown): boolean {
  return value === undefined || typeof value === 'string' || (Array.isArray(value) && value.every(isObject));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
