import { Document } from '@langchain/core/documents';
import { BaseRetriever, type BaseRetrieverInput } from '@langchain/core/retrievers';
import {
  AgentMemory,
  type AgentMemoryOptions,
  getContext,
  type PromptContextOptions,
  type UserScope,
} from '@memoryd/client/session';
import type { ContextMemory, ContextReason, MemoryApi } from '@memoryd/contract';

export interface MemoryRetrieverFields
  extends BaseRetrieverInput,
    PromptContextOptions,
    Pick<AgentMemoryOptions, 'timeoutMs' | 'timezone'>,
    UserScope {
  memory: MemoryApi;
  /** Maximum tokens of the documents, from 50 to 20,000, estimated upwards. Defaults to 800. */
  tokens?: number;
  /** Receives the first error of an outage of the service. Defaults to `console.warn`. */
  onError?: (error: unknown, operation: 'recall') => void;
}

/** Metadata of a document that `MemoryRetriever` returns. */
export interface MemoryDocumentMetadata {
  id: string;
  /** Why the document was retrieved: a standing note, an answer to the query, or a recent statement. */
  why: ContextReason;
  /** Relevance to the query, from 0 to 1. Absent for memories that the query did not find. */
  score?: number;
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

function toMetadata({ content: _content, highlight: _highlight, ...metadata }: ContextMemory): MemoryDocumentMetadata {
  const { user_id: _user, agent_id: _agent, ...rest } = metadata;
  return rest;
}

/** Returns the memories of a context in the order of the documents. */
function toBestFirst(memories: readonly ContextMemory[]): ContextMemory[] {
  const getGroup = (reason: ContextReason) => memories.filter(({ why }) => why === reason);
  const relevant = getGroup('relevant');
  const answers = relevant.filter(({ score }) => score !== undefined);
  const sorted = answers.toSorted((one, other) => (other.score ?? 0) - (one.score ?? 0));
  const withQuestions = sorted.flatMap((answer) => [...getQuestion(relevant, answer), answer]);
  return [...withQuestions, ...getGroup('standing'), ...getGroup('recent')];
}

/** Returns the question that an answer replies to: the memory before it in its session, if no recall has found it. */
function getQuestion(relevant: readonly ContextMemory[], answer: ContextMemory): ContextMemory[] {
  const turns = relevant.filter(({ session_id }) => session_id === answer.session_id);
  const before = turns[turns.indexOf(answer) - 1];
  return before && before.score === undefined ? [before] : [];
}

/** Maximum queries that a retriever remembers. */
const MAX_QUERIES = 100;
/** Period in ms in which a repeated query is not a further use of the memories. */
const REPEAT_WINDOW_MS = 5 * 60_000;

/**
 * Retrieves the context of a query as documents: the memories of the user that answer the query, best first, a question
 * directly before its reply; then standing notes; then, with `recent` in `context`, recent statements. A blank query
 * has no documents. A long text is shortened to its best passage. Omits duplicates, and memories that do not hold,
 * unless the query asks for what was before.
 *
 * The context is tried once, within `timeoutMs`. If the service fails, and for 30 seconds after a failure, there are no
 * documents. Rejects if the request is invalid. If a query is repeated within five minutes, such as in each step of an
 * agent, it is not counted as a further use of the memories, unless `context` contains `track`.
 */
export class MemoryRetriever extends BaseRetriever<MemoryDocumentMetadata> {
  lc_namespace = ['memoryd', 'retrievers'];
  readonly #agent: AgentMemory;
  readonly #tokens: number;
  readonly #context: PromptContextOptions['context'];
  /** The last queries, oldest first, with the time of their last counted recall on the monotonic clock. */
  readonly #recent = new Map<string, number>();

  static override lc_name(): string {
    return 'MemoryRetriever';
  }

  /** @throws TypeError if `userId` is missing, and RangeError for an invalid `timeoutMs` or `timezone` */
  constructor({ memory, onError, context, tokens = 800, ...fields }: MemoryRetrieverFields) {
    super(fields);
    const { userId, agentId, timeoutMs, timezone } = fields;
    // The retriever only recalls.
    this.#agent = new AgentMemory(memory, {
      ...{ userId, agentId, timeoutMs, timezone, onError: onError as AgentMemoryOptions['onError'] },
    });
    this.#tokens = tokens;
    this.#context = context;
  }

  override async _getRelevantDocuments(query: string): Promise<Document<MemoryDocumentMetadata>[]> {
    if (query.trim() === '') return [];
    const context = { track: this.#isNew(query), ...this.#context };
    const request = { context, budget: this.#tokens, knownTexts: [] };
    const response = await this.#agent.read('recall', (memory) => getContext(memory, query, request));
    if (!response) this.#recent.delete(query);
    return toBestFirst(response?.memories ?? []).map((memory) => {
      const { id, content, highlight = content } = memory;
      return new Document({ id, pageContent: highlight, metadata: toMetadata(memory) });
    });
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
