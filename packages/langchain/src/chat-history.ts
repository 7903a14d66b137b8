import { BaseListChatMessageHistory } from '@langchain/core/chat_history';
import type { BaseMessage } from '@langchain/core/messages';
import { eachMemory, eachSessionMemory } from '@memoryd/client';
import { scopeToUser, session, type UserScope } from '@memoryd/client/session';
import type { MemoryApi, Metadata } from '@memoryd/contract';
import { toMessage, toStoredMessage } from './stored-message.ts';

export interface MemoryChatHistoryFields extends UserScope {
  memory: MemoryApi;
  /** Id of the session in which the messages are stored. */
  sessionId: string;
}

/**
 * Chat history of one user, stored as memories of a session, so that messages can be recalled like other memories.
 * Messages are restored unchanged, including tool calls and additional fields. Per message, all data except the text
 * can have up to 16 KiB. The history includes messages that other programs add to the session, such as `session` of
 * `@memoryd/client`, but no other memories.
 */
export class MemoryChatHistory extends BaseListChatMessageHistory {
  lc_namespace = ['memoryd', 'stores', 'message'];
  readonly #memory: MemoryApi;
  readonly #sessionId: string;

  static override lc_name(): string {
    return 'MemoryChatHistory';
  }

  /** @throws TypeError if `userId` is missing */
  constructor({ memory, sessionId, ...scope }: MemoryChatHistoryFields) {
    super();
    this.#memory = scopeToUser(memory, scope);
    this.#sessionId = sessionId;
  }

  /** Returns all messages, oldest first. */
  override async getMessages(): Promise<BaseMessage[]> {
    const metadataById = await this.#getAllMetadata();
    const messages: BaseMessage[] = [];
    for await (const { id, content, tags } of eachSessionMemory(this.#memory, { session_id: this.#sessionId })) {
      // A merged duplicate is in the transcript, but not in the list of memories, so its metadata is fetched by id.
      const metadata = metadataById.get(id) ?? (await this.#getMetadata(id));
      const message = metadata && toMessage({ content, tags, metadata });
      if (message) messages.push(message);
    }
    return messages;
  }

  override addMessage(message: BaseMessage): Promise<void> {
    return this.addMessages([message]);
  }

  /**
   * Stores messages in order. If some messages cannot be stored, rejects with the first error; the `results` of the
   * error contain the stored id or the error of each message. If a message type has no content, such as
   * `RemoveMessage`, rejects with TypeError and stores nothing.
   */
  override async addMessages(messages: BaseMessage[]): Promise<void> {
    await session(this.#memory, this.#sessionId, { userId: null }).add(messages.map(toStoredMessage));
  }

  /** Forgets all memories of the user in the session for good. */
  override async clear(): Promise<void> {
    await this.#memory.forgetMany({ session_id: this.#sessionId });
  }

  /** Returns the metadata of a memory; undefined if the memory was forgotten or evicted, or has expired. */
  async #getMetadata(id: string): Promise<Metadata | undefined> {
    try {
      return (await this.#memory.memory(id)).metadata;
    } catch (error) {
      if ((error as { code?: unknown }).code === 'NOT_FOUND') return undefined;
      throw error;
    }
  }

  async #getAllMetadata(): Promise<Map<string, Metadata>> {
    const byId = new Map<string, Metadata>();
    for await (const { id, metadata } of eachMemory(this.#memory, { session_id: this.#sessionId })) {
      byId.set(id, metadata);
    }
    return byId;
  }
}
