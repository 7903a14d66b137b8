import type { RerankerState } from '@memoryd/contract';
import { MemoryError } from '@memoryd/contract/errors';
import {
  belongsTo,
  getRerankCandidates,
  type RankedSearchRequest,
  type RerankCandidate,
  rankFound,
  type SearchResults,
  type Signals,
  withReranks,
} from '@memoryd/search';
import { FairQueue } from './concurrency/fair-queue.ts';
import { type Reranker, type RerankerOption, RerankerUnavailable } from './ports/reranker.ts';
import type { Clock, Telemetry } from './ports/runtime.ts';
import type { Storage } from './ports/storage.ts';

/** Maximum memories of a recall that are reranked. Some servers accept 32 texts in a request. */
const MAX_RERANKED = 30;

/** Maximum length of a query and of a text, in UTF-16 units. */
const MAX_CHARS = 1000;

const QUEUE_LIMITS = { maxRunning: 8, maxWaiting: 64 };
const TOO_MANY = 'too many recalls wait for the reranker';

/** Consecutive failures after which the reranker is not called for a while. */
const MAX_FAILURES = 3;
const PAUSE_MS = 30_000;

/** Deviation from 0 or 1 that is attributed to rounding. */
const ROUNDING = 0.001;

/** The state of the reranker after its last call; `ready` before the first. `option` is the setting to check. */
export interface RerankerHealth {
  state: RerankerState | 'off';
  problem?: string;
  option?: RerankerOption;
}

/** The results of a search. `reranked`: whether a reranker contributed to the scores. */
export interface RerankedResults extends SearchResults {
  reranked: boolean;
  stagesMs: SearchResults['stagesMs'] & { rerank?: number };
}

interface RerankingParts {
  storage: Storage;
  clock: Clock;
  telemetry: Telemetry;
  /** Maximum time that a recall waits for the reranker, including the wait for a slot. */
  timeoutMs: number;
}

/**
 * Searches with a reranker: ranks, sends the texts of the first memories to the reranker, and ranks again with its
 * probabilities as evidence. If the reranker fails or is late, the results are those without a reranker.
 *
 * Only recalls of one user, and of namespaces without users, are reranked, so that no text of a user leaves the service
 * in a request that was not made for this user.
 */
export class Reranking {
  readonly #reranker: Reranker;
  readonly #parts: RerankingParts;
  readonly #queue: FairQueue;
  #failure: { error: unknown; at: number; count: number } | undefined;
  /** Whether a score outside 0 to 1 has shown that the scores are logits. */
  #givesLogits = false;

  constructor(reranker: Reranker, parts: RerankingParts) {
    this.#reranker = reranker;
    this.#parts = parts;
    const limits = { ...QUEUE_LIMITS, timeoutMs: parts.timeoutMs };
    this.#queue = new FairQueue(limits, { full: TOO_MANY, timeout: TOO_MANY });
  }

  get health(): RerankerHealth {
    if (this.#failure === undefined) return { state: 'ready' };
    const { error } = this.#failure;
    if (!(error instanceof RerankerUnavailable)) {
      return { state: 'unavailable', problem: 'the reranker fails; see the log' };
    }
    return { state: 'unavailable', problem: error.message, ...(error.option && { option: error.option }) };
  }

  /** See `SearchStorage.searchAndRank`. */
  async searchAndRank(request: RankedSearchRequest): Promise<RerankedResults> {
    const { storage } = this.#parts;
    if (this.#isPaused() || !(await this.#isOfOneUser(request))) {
      return { ...(await storage.searchAndRank(request)), reranked: false };
    }
    const signals = await storage.search(request);
    const beganAt = performance.now();
    const probabilities = await this.#getProbabilities(signals, request);
    const rerank = performance.now() - beganAt;
    const { ordinals, toSearchResults } = rankFound(
      probabilities ? withReranks(signals, probabilities) : signals,
      request,
    );
    const { stagesMs, ...found } = toSearchResults(
      await this.#read(ordinals, request, { limit: request.ranking.limit }),
    );
    return { ...found, stagesMs: { ...stagesMs, rerank }, reranked: probabilities !== undefined };
  }

  /** Aborts pending calls. Recalls then return their results without the reranker. */
  close(): void {
    this.#queue.close(TOO_MANY);
    this.#reranker.close();
  }

  /** Returns true for a request of one user, with or without shared memories, or of a namespace without users. */
  async #isOfOneUser({ namespace, filter: { userIds }, now }: RankedSearchRequest): Promise<boolean> {
    if (userIds) return userIds.filter((id) => id !== '').length <= 1;
    return (await this.#parts.storage.users(namespace, { limit: 1 }, now)).total === 0;
  }

  /** Reads memories, without those of other owners, because the index may confuse owners. */
  async #read(
    ordinals: number[],
    { namespace, maxBytes, filter, now }: RankedSearchRequest,
    reading: { limit?: number } = {},
  ) {
    const { memories, truncated } = await this.#parts.storage.read(
      namespace,
      ordinals,
      { now, filter, ...reading },
      maxBytes,
    );
    return { memories: memories.filter((memory) => belongsTo(memory, filter)), truncated };
  }

  /** Returns probabilities by ordinal, or undefined without a response of the reranker. */
  async #getProbabilities(
    signals: Signals,
    request: RankedSearchRequest,
  ): Promise<ReadonlyMap<number, number> | undefined> {
    const inputs = toInputs(
      await this.#readTexts(getRerankCandidates(signals, request.ranking, MAX_RERANKED), request),
    );
    const scores = inputs.length > 0 ? await this.#getScores(inputs, request) : undefined;
    if (!scores) return undefined;
    const sums = new Map<number, { sum: number; count: number }>();
    inputs.flat().forEach(({ ordinal }, i) => {
      const { sum, count } = sums.get(ordinal) ?? { sum: 0, count: 0 };
      sums.set(ordinal, { sum: sum + (scores[i] as number), count: count + 1 });
    });
    return new Map([...sums].map(([ordinal, { sum, count }]) => [ordinal, sum / count]));
  }

  async #readTexts(candidates: readonly RerankCandidate[], request: RankedSearchRequest): Promise<CandidateTexts[]> {
    const ordinals = new Set(candidates.map(({ ordinal }) => ordinal));
    for (const { previous } of candidates) if (previous !== undefined) ordinals.add(previous);
    // A user may have stored a first memory since `#isOfOneUser`.
    const filter = { ...request.filter, userIds: request.filter.userIds ?? [''] };
    const { memories } = await this.#read([...ordinals], { ...request, filter });
    const contents = new Map(memories.map(({ ordinal, survivor = ordinal, content }) => [survivor, content]));
    return candidates.flatMap(({ ordinal, previous }) => {
      const content = contents.get(ordinal);
      const before = previous === undefined ? undefined : contents.get(previous);
      return content === undefined ? [] : [{ ordinal, content, before }];
    });
  }

  /** Returns the probability of each input, in the order of `inputs.flat()`. */
  async #getScores(
    inputs: readonly Input[][],
    { namespace, text }: RankedSearchRequest,
  ): Promise<number[] | undefined> {
    const signal = AbortSignal.timeout(this.#parts.timeoutMs);
    const isBusy = this.#queue.running >= QUEUE_LIMITS.maxRunning;
    let release: (() => void) | undefined;
    try {
      release = await this.#queue.acquire(namespace, () => signal);
      const lists = inputs.map((list) => list.map((input) => input.text));
      const scores = await Promise.all(lists.map((texts) => this.#reranker.score(cut(text), texts, signal)));
      this.#failure = undefined;
      return this.#toProbabilities(scores.flat());
    } catch (error) {
      // The reranker itself has not failed if it is closed, or had less than the whole time.
      if (!isBusy && !(error instanceof MemoryError)) this.#noteFailure(error);
      return undefined;
    } finally {
      release?.();
    }
  }

  #toProbabilities(scores: readonly number[]): number[] {
    this.#givesLogits ||= scores.some((score) => score < -ROUNDING || score > 1 + ROUNDING);
    return scores.map((score) => (this.#givesLogits ? 1 / (1 + Math.exp(-score)) : Math.min(1, Math.max(0, score))));
  }

  // The absolute difference also ends the pause if the clock was set back.
  #isPaused(): boolean {
    const { at, count } = this.#failure ?? { at: 0, count: 0 };
    return count >= MAX_FAILURES && Math.abs(this.#parts.clock.now() - at) < PAUSE_MS;
  }

  /** Counts a failure. Reports the first one, and each one after a pause. */
  #noteFailure(error: unknown): void {
    const count = (this.#failure?.count ?? 0) + 1;
    this.#failure = { error, at: this.#parts.clock.now(), count };
    if (count > 1 && count <= MAX_FAILURES) return;
    const { message, option = null } = error instanceof RerankerUnavailable ? error : { message: 'unexpected error' };
    this.#parts.telemetry.report({
      level: 'warn',
      component: 'retrieval',
      event: 'reranker_failed',
      facts: { message, ...(option && { option }) },
      error,
    });
  }
}

/** The text of a candidate, and of the turn before it. */
interface CandidateTexts {
  ordinal: number;
  content: string;
  before: string | undefined;
}

/** A text for the reranker, and the memory that gets its score. */
interface Input {
  ordinal: number;
  text: string;
}

/**
 * Returns the inputs of each request: the texts alone, and the texts of turns after the turn before, which a reply often
 * needs to be understood.
 */
function toInputs(candidates: readonly CandidateTexts[]): Input[][] {
  const alone = candidates.map(({ ordinal, content }) => ({ ordinal, text: cut(content) }));
  const replies = candidates.flatMap(({ ordinal, content, before }) => {
    const text = cut(content);
    const room = MAX_CHARS - text.length - 1;
    if (before === undefined || room <= 0) return [];
    return [{ ordinal, text: `${before.slice(-room).toWellFormed()}\n${text}` }];
  });
  return [alone, replies].filter((inputs) => inputs.length > 0);
}

function cut(text: string): string {
  return text.slice(0, MAX_CHARS).toWellFormed();
}
