import { Document } from '@langchain/core/documents';
import { BaseRetriever, type BaseRetrieverInput } from '@langchain/core/retrievers';
import { type RecallForPromptOptions, recallForPrompt, scopeToUser, type UserScope } from '@memoryd/client/session';
import type { MemoryApi } from '@memoryd/contract';

export interface MemoryRetrieverFields
  extends BaseRetrieverInput,
    Pick<RecallForPromptOptions, 'countTokens' | 'recall' | 'tokens'>,
    UserScope {
  memory: MemoryApi;
}

/** Metadata of a document that `MemoryRetriever` returns. */
export interface MemoryDocumentMetadata {
  id: string;
  /** Relevance to the query, from 0 to 1. */
  score: number;
  tags: string[];
  /** Null for semantic memories. */
  session_id: string | null;
  /** ISO 8601, in UTC. */
  created_at: string;
}

/**
 * Retrieves memories of one user as documents, best first. Returns at most `recall.top_k` documents (default 20) and,
 * if `tokens` is set, at most this number of tokens. Omits duplicates and memories that another document supersedes.
 * Rejects like `MemoryApi.recall`.
 */
export class MemoryRetriever extends BaseRetriever<MemoryDocumentMetadata> {
  lc_namespace = ['memoryd', 'retrievers'];
  readonly #memory: MemoryApi;
  readonly #options: RecallForPromptOptions;

  static override lc_name(): string {
    return 'MemoryRetriever';
  }

  /** @throws TypeError if `userId` is missing */
  constructor({ memory, userId, agentId, countTokens, recall, tokens, ...fields }: MemoryRetrieverFields) {
    super(fields);
    this.#memory = scopeToUser(memory, { userId, agentId });
    this.#options = {
      // Null, because `#memory` is already limited to the user.
      userId: null,
      // Documents do not have the overhead of chat messages.
      tokensPerItem: 0,
      ...(countTokens && { countTokens }),
      ...(recall && { recall }),
      ...(tokens !== undefined && { tokens }),
    };
  }

  override async _getRelevantDocuments(query: string): Promise<Document<MemoryDocumentMetadata>[]> {
    const results = await recallForPrompt(this.#memory, query, this.#options);
    return results.map(
      ({ content, id, score, tags, session_id, created_at }) =>
        new Document({ id, pageContent: content, metadata: { id, score, tags, session_id, created_at } }),
    );
  }
}
