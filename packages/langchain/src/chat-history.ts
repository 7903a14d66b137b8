import { BaseListChatMessageHistory } from '@langchain/core/chat_history';
import type { BaseMessage } from '@langchain/core/messages';
import { eachMemory, eachSessionMemory } from '@memoryd/client';
import {
  AgentMemory,
  type AgentMemoryOptions,
  createBatchStore,
  type FlushOptions,
  getItem,
  toStoreRequest,
  type UserScope,
  withoutStored,
  withTime,
} from '@memoryd/client/session';
import type { MemoryApi, Metadata, SessionMemory, StoreRequest } from '@memoryd/contract';
import { toMessage, toStoredMessage } from './stored-message.ts';

export interface MemoryChatHistoryFields extends UserScope, AgentMemoryOptions {
  memory: MemoryApi;
  /** Id of the session in which the messages are stored. */
  sessionId: string;
}

/**
 * Chat history of one user, stored as memories of a session, so that messages can be recalled like other memories.
 * Messages are restored unchanged, including tool calls and additional fields. Per message, all data except the text
 * can have up to 1 MiB of JSON. The history includes messages that other programs add to the session, such as `session`
 * of `@memoryd/client`, but no other memories.
 *
 * The history is read once, within `timeoutMs`, and messages are stored in the background, so an unavailable service
 * does not stop a chain. Errors are passed to `onError`. Messages that wait to be stored are part of every history of
 * the same session in this process.
 */
export class MemoryChatHistory extends BaseListChatMessageHistory {
  lc_namespace = ['memoryd', 'stores', 'message'];
  readonly #agent: AgentMemory;
  readonly #sessionId: string;

  static override lc_name(): string {
    return 'MemoryChatHistory';
  }

  /** @throws TypeError if `userId` is missing, and RangeError for an invalid `timeoutMs` or `timezone` */
  constructor({ memory, sessionId, ...options }: MemoryChatHistoryFields) {
    super();
    this.#agent = new AgentMemory(memory, options);
    this.#sessionId = sessionId;
  }

  /**
   * Returns all messages, oldest first. If the service fails, and for 30 seconds after a failure, returns only the
   * messages that wait to be stored.
   */
  override async getMessages(): Promise<BaseMessage[]> {
    const unstored = this.#agent.getUnstored(this.#sessionId);
    const stored = (await this.#agent.read('read', (memory) => readSession(memory, this.#sessionId))) ?? [];
    const all = [...stored, ...withoutStored(unstored, stored).map(toReadMemory)];
    return all.flatMap((memory) => toMessage(memory) ?? []);
  }

  override addMessage(message: BaseMessage): Promise<void> {
    return this.addMessages([message]);
  }

  /**
   * Stores messages in order, in the background. If the service is unavailable, at most 1,000 messages or 8 MiB of all
   * sessions wait in memory, and the oldest are refused. If a message type has no content, such as `RemoveMessage`,
   * rejects with TypeError and stores nothing. Rejects with INVALID_REQUEST, and stores nothing, for more than 1,000
   * messages or 8 MiB, and if a message has more than 1 MiB of JSON besides its text. For an error of single messages,
   * `results` of the error that `onError` receives contains the stored id or the error of each message.
   */
  override async addMessages(messages: BaseMessage[]): Promise<void> {
    const stored = messages.map((message, index) => toStoredMessage(message, index));
    const requests = withTime(stored.map((message) => toStoreRequest(message, this.#sessionId)));
    this.#agent.store(this.#sessionId, requests, createBatchStore(requests));
  }

  /** Forgets all memories of the user in the session for good, including messages that wait to be stored. */
  override async clear(): Promise<void> {
    await this.#agent.forgetSession(this.#sessionId);
  }

  /**
   * Waits until the messages of the session are stored. For programs that end. Rejects with UNAVAILABLE if some are not
   * stored in time; they still wait then.
   */
  flush(options?: FlushOptions): Promise<void> {
    return this.#agent.flush(this.#sessionId, options);
  }
}

type ReadMemory = Pick<SessionMemory, 'content' | 'created_at' | 'tags'> & { metadata: Metadata };

function toReadMemory({ content, created_at, tags, ...fields }: StoreRequest): ReadMemory {
  return { content, created_at: created_at ?? '', tags: tags ?? [], metadata: getItem(fields) };
}

/** Reads the transcript of a session, with metadata. Leaves out memories that are forgotten during the read. */
async function readSession(memory: MemoryApi, session_id: string): Promise<ReadMemory[]> {
  const metadataById = await getAllMetadata(memory, session_id);
  const memories: ReadMemory[] = [];
  for await (const { id, attachment, ...rest } of eachSessionMemory(memory, { session_id, attachments: true })) {
    // A merged duplicate is in the transcript, but not in the list of memories, so its metadata is fetched by id.
    const metadata = metadataById.get(id) ?? (attachment === undefined ? await getMetadata(memory, id) : {});
    if (metadata) memories.push({ ...rest, metadata: getItem({ metadata, attachment: attachment ?? null }) });
  }
  return memories;
}

/** Returns the metadata of a memory; undefined if the memory was forgotten or evicted, or has expired. */
async function getMetadata(memory: MemoryApi, id: string): Promise<Metadata | undefined> {
  try {
    return (await memory.memory(id)).metadata;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

async function getAllMetadata(memory: MemoryApi, session_id: string): Promise<Map<string, Metadata>> {
  const byId = new Map<string, Metadata>();
  for await (const { id, metadata } of eachMemory(memory, { session_id })) byId.set(id, metadata);
  return byId;
}
