import { BaseListChatMessageHistory } from '@langchain/core/chat_history';
import type { BaseMessage } from '@langchain/core/messages';
import { eachMemory, eachSessionMemory } from '@memoryd/client';
import { type OfUser, scopeToUser, session } from '@memoryd/client/session';
import type { MemoryApi, Metadata } from '@memoryd/contract';
import { toKept, toMessage } from './kept-message.ts';

export interface MemoryChatHistoryFields extends OfUser {
  memory: MemoryApi;
  /** The conversation: the session that the messages are stored into. */
  sessionId: string;
}

/**
 * The messages of a conversation of one user, kept as memories of a session, so that they are recalled as everything else
 * is. A message comes back as it was, with its calls of tools and what else it holds, which may take 16 KiB beside its
 * text. What other programs add to the session as messages, such as `session` of `@memoryd/client`, is there too;
 * memories that nobody said are not.
 */
export class MemoryChatHistory extends BaseListChatMessageHistory {
  lc_namespace = ['memoryd', 'stores', 'message'];
  readonly #memory: MemoryApi;
  readonly #sessionId: string;

  static override lc_name(): string {
    return 'MemoryChatHistory';
  }

  /** Throws TypeError where no `userId` is given. */
  constructor({ memory, sessionId, ...of }: MemoryChatHistoryFields) {
    super();
    this.#memory = scopeToUser(memory, of);
    this.#sessionId = sessionId;
  }

  /** Every message, oldest first. */
  override async getMessages(): Promise<BaseMessage[]> {
    const kept = await this.#metadata();
    const messages: BaseMessage[] = [];
    for await (const { id, content, tags } of eachSessionMemory(this.#memory, { session_id: this.#sessionId })) {
      // A duplicate that consolidation merged is in the transcript, but in no list.
      const metadata = kept.get(id) ?? (await this.#getMetadata(id));
      const message = metadata && toMessage({ content, tags, metadata });
      if (message) messages.push(message);
    }
    return messages;
  }

  override addMessage(message: BaseMessage): Promise<void> {
    return this.addMessages([message]);
  }

  /**
   * Stores messages in order. Rejects with the first refusal where some were not stored, whose `results` say which were and
   * by which ids, and with a TypeError, before any is, where one says nothing, such as a `RemoveMessage`.
   */
  override async addMessages(messages: BaseMessage[]): Promise<void> {
    await session(this.#memory, this.#sessionId, { userId: null }).add(messages.map(toKept));
  }

  /** Forgets the whole session, for good. */
  override async clear(): Promise<void> {
    await this.#memory.forgetMany({ session_id: this.#sessionId });
  }

  /** Undefined for a memory that has been forgotten, or has expired, since the transcript was read. */
  async #getMetadata(id: string): Promise<Metadata | undefined> {
    try {
      return (await this.#memory.memory(id)).metadata;
    } catch (error) {
      if ((error as { code?: unknown }).code === 'NOT_FOUND') return undefined;
      throw error;
    }
  }

  async #metadata(): Promise<Map<string, Metadata>> {
    const byId = new Map<string, Metadata>();
    for await (const { id, metadata } of eachMemory(this.#memory, { session_id: this.#sessionId })) {
      byId.set(id, metadata);
    }
    return byId;
  }
}
