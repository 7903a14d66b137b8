import { Document } from '@langchain/core/documents';
import { BaseRetriever, type BaseRetrieverInput } from '@langchain/core/retrievers';
import {
  AgentMemory,
  type AgentMemoryOptions,
  type RecallForPromptOptions,
  recallForPrompt,
  type UserScope,
} from '@memoryd/client/session';
import type { MemoryApi, RecallResult } from '@memoryd/contract';

export interface MemoryRetrieverFields
  extends BaseRetrieverInput,
    Pick<RecallForPromptOptions, 'countTokens' | 'recall' | 'tokens'>,
    Pick<AgentMemoryOptions, 'timeoutMs' | 'timezone'>,
    UserScope {
  memory: MemoryApi;
  /** Receives the first error of an outage of the service. Defaults to `console.warn`. */
  onError?: (error: unknown, operation: 'recall') => void;
}

/** Metadata of a document that `MemoryRetriever` returns. */
export interface MemoryDocumentMetadata {
  id: string;
  /** Relevance to the query, from 0 to 1. */
  score: number;
  tags: string[];
  /** Null for semantic memories. */
  session_id: string | null;
  /** The id that the memory was stored under by its caller, if any. */
  external_id?: string;
  /** ISO 8601, in UTC. */
  created_at: string;
  /** Time from which the memory does not hold, in UTC. */
  valid_to?: string;
  /** The memory that replaces this one. */
  superseded_by?: string;
}

function toMetadata({
  id,
  score,
  tags,
  session_id,
  external_id,
  created_at,
  ...rest
}: RecallResult): MemoryDocumentMetadata {
  const { valid_to, superseded_by } = rest;
  return {
    ...{ id, score, tags, session_id, created_at },
    ...(external_id !== undefined && { external_id }),
    ...(valid_to !== undefined && { valid_to }),
    ...(superseded_by !== undefined && { superseded_by }),
  };
}

/** Maximum queries that a retriever remembers. */
const MAX_QUERIES = 100;
/** Period in ms in which a repeated query is not a further use of the memories. */
const REPEAT_WINDOW_MS = 5 * 60_000;

/**
 * Retrieves memories of one user as documents, best first. Returns at most `recall.top_k` documents (default 20) and,
 * if `tokens` is set, at most this number of tokens. Omits duplicates, and
 * memories that do not hold, unless the query asks for what was before.
 *
 * The recall is tried once, within `timeoutMs`. If the service fails, and for 30 seconds after a failure, there are no
 * documents. Rejects if the request is invalid. If a query is repeated within five minutes, such as in each step of an
 * agent, the recall is not counted as a further use of the memories, unless `recall` contains `track`.
 */
export class MemoryRetriever extends BaseRetriever<MemoryDocumentMetadata> {
  lc_namespace = ['memoryd', 'retrievers'];
  readonly #agent: AgentMemory;
  readonly #options: RecallForPromptOptions;
  /** The last queries, oldest first, with the time of their last counted recall on the monotonic clock. */
  readonly #recent = new Map<string, number>();

  static override lc_name(): string {
    return 'MemoryRetriever';
  }

  /** @throws TypeError if `userId` is missing, and RangeError for an invalid `timeoutMs` or `timezone` */
  constructor({ memory, onError, countTokens, recall, tokens, ...fields }: MemoryRetrieverFields) {
    super(fields);
    const { userId, agentId, timeoutMs, timezone } = fields;
    // The retriever only recalls.
    this.#agent = new AgentMemory(memory, {
      ...{ userId, agentId, timeoutMs, timezone, onError: onError as AgentMemoryOptions['onError'] },
    });
    this.#options = {
      // Null, because the memory of `#agent` is already limited to the user.
      userId: null,
      // Documents do not have the overhead of chat messages.
      tokensPerItem: 0,
      ...(countTokens && { countTokens }),
      ...(recall && { recall }),
      ...(tokens !== undefined && { tokens }),
    };
  }

  override async _getRelevantDocuments(query: string): Promise<Document<MemoryDocumentMetadata>[]> {
    const recall = { track: this.#isNew(query), ...this.#options.recall };
    const options = { ...this.#options, recall };
    const results = await this.#agent.read('recall', (memory) => recallForPrompt(memory, query, options));
    if (!results) this.#recent.delete(query);
    return (results ?? []).map(
      (result) => new Document({ id: result.id, pageContent: result.content, metadata: toMetadata(result) }),
    );
  }

  /** Returns true, and remembers the query, unless it was counted within the repeat window. */
  #isNew(query: string): boolean {
    const now = performance.now();
    const countedAt = this.#recent.get(query);
    if (countedAt !== undefined && now - countedAt < REPEAT_WINDOW_MS) return false;
    this.#recent.delete(query);
    this.#recent.set(query, now);
    const [oldest] = this.#recent.keys();
    if (this.#recent.size > MAX_QUERIES && oldest !== undefined) this.#recent.delete(oldest);
    return true;
  }
}
