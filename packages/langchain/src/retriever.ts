import { Document } from '@langchain/core/documents';
import { BaseRetriever, type BaseRetrieverInput } from '@langchain/core/retrievers';
import { type OfUser, type RecalledOptions, recalled, scopeToUser } from '@memoryd/client/session';
import type { MemoryApi } from '@memoryd/contract';

export interface MemoryRetrieverFields
  extends BaseRetrieverInput,
    Pick<RecalledOptions, 'countTokens' | 'recall' | 'tokens'>,
    OfUser {
  memory: MemoryApi;
}

/** What is known of a document beside its text. */
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
 * Retrieves memories of one user as documents, best first: at most 20, unless `recall.top_k` says otherwise, and within
 * `tokens`, where that is given. No text comes twice, and nothing that another of them corrects. Rejects as
 * `MemoryApi.recall`.
 */
export class MemoryRetriever extends BaseRetriever<MemoryDocumentMetadata> {
  lc_namespace = ['memoryd', 'retrievers'];
  readonly #memory: MemoryApi;
  readonly #options: RecalledOptions;

  static override lc_name(): string {
    return 'MemoryRetriever';
  }

  /** Throws TypeError where no `userId` is given. */
  constructor({ memory, userId, agentId, countTokens, recall, tokens, ...fields }: MemoryRetrieverFields) {
    super(fields);
    this.#memory = scopeToUser(memory, { userId, agentId });
    this.#options = {
      // The memory is that of the user already.
      userId: null,
      // Documents are no items of a chat.
      tokensPerItem: 0,
      ...(countTokens && { countTokens }),
      ...(recall && { recall }),
      ...(tokens !== undefined && { tokens }),
    };
  }

  override async _getRelevantDocuments(query: string): Promise<Document<MemoryDocumentMetadata>[]> {
    const results = await recalled(this.#memory, query, this.#options);
    return results.map(
      ({ content, id, score, tags, session_id, created_at }) =>
        new Document({ id, pageContent: content, metadata: { id, score, tags, session_id, created_at } }),
    );
  }
}
