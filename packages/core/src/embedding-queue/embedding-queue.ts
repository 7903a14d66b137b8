import type { EmbedderState } from '@memoryd/contract';
import { MemoryError } from '@memoryd/contract';
import type { CosineScales, QueryVector } from '@memoryd/search';
import { copyString, getCosineScale } from '@memoryd/search';
import { LRUCache } from 'lru-cache';
import { BackgroundTask, type Outcome } from '../concurrency/background-task.ts';
import {
  type Embedder,
  type EmbedderOption,
  EmbedderUnavailable,
  type Embedding,
  type OpenEmbedder,
} from '../ports/embedder.ts';
import type { Telemetry } from '../ports/runtime.ts';
import type { Storage } from '../ports/storage.ts';
import {
  EMBEDDING_LIMITS,
  type MemoryVectors,
  type NamespaceUser,
  type PendingEmbedding,
} from '../ports/storage-vectors.ts';
import { paced } from '../time.ts';
import { Backpressure } from './backpressure.ts';
import { BATCH, BatchEmbedder, getBacklogBatch, joinPieces, probe, splitIntoBatches } from './batch-embedder.ts';
import { measureCosineScales } from './cosine-scales.ts';
import { ReembeddingProgress } from './reembedding-progress.ts';
import { WaitingStores } from './waiting-stores.ts';

/** While at most this many memories are pending, a store waits for its own vectors. */
const MAX_AWAITED_BACKLOG = 64;

/** Maximum time that a start waits for the model. The model continues to open after that. */
const MAX_OPENING_WAIT_MS = 3000;

/** Maximum query embeddings in the cache. */
const MAX_CACHED_QUERIES = 1000;

/** Pause after the first failure. The pause doubles with each consecutive failure. */
const FIRST_PAUSE_MS = 500;
const MODEL_BACKOFF = BackgroundTask.doubling(FIRST_PAUSE_MS, 60_000);
/** Used if only storage failed. */
const STORAGE_BACKOFF = BackgroundTask.doubling(FIRST_PAUSE_MS, 5000);

/** Interval for polling storage for memories that another process left without vectors, and for the model in use. */
const POLL_INTERVAL_MS = 5000;

/** The smallest possible batch, for reading which model is in use. */
const MIN_BATCH_SIZE = { ...BATCH, limit: 1 };

/** One long text. */
const NEXT_LONG_TEXT = { ...MIN_BATCH_SIZE, long: true } as const;

/**
 * A piece of a long text has at least this number of characters and a quarter of the text before the piece. Each piece
 * rewrites the index entry with the vectors of all pieces before, so equal pieces would take quadratic time.
 */
const PIECE = { minChars: 16_384, minShare: 1 / 4 };

/** Time after which a piece ends, so that a slow model does not delay recall by the parts that have vectors. */
const MAX_PIECE_MS = 10_000;

/** Whether recall by vectors works, and the problem if not. */
export interface EmbedderHealth {
  state: EmbedderState;
  /** A clause without secrets, such as "the model is not open yet". */
  problem?: string;
  /** The option that is probably wrong, if any. */
  option?: EmbedderOption;
}

/**
 * Embeds queries and pending memories. The users take turns, usually with their oldest memory first. Storage records
 * which memories are pending, so pending memories survive a restart. The queue itself has only the texts of a few new
 * memories, and the stores that wait for their vectors.
 *
 * Short and long texts have separate tasks. The task of long texts embeds one piece of one text at a time; recall finds
 * the text by the pieces that were written. Each task makes one call of the model at a time, and the model alternates
 * between their calls part by part, so a short text waits for at most one call with a few parts of a long text.
 *
 * The queue opens the model and retries after failures, so a model that works again is used
 * without a restart. If several processes with different models share a database, the model that was opened last is
 * used; the queues of the other models pause, and their recall uses words only.
 */
export class EmbeddingQueue {
  readonly #open: OpenEmbedder;
  readonly #storage: Storage;
  readonly #telemetry: Telemetry;
  readonly #waiting = new WaitingStores();
  readonly #backpressure = new Backpressure();
  readonly #task = new BackgroundTask({
    run: () => this.#work(),
    everyMs: POLL_INTERVAL_MS,
    retryMs: (failures) => (this.#failure === undefined ? STORAGE_BACKOFF : MODEL_BACKOFF)(failures),
  });
  readonly #longTask = new BackgroundTask({
    run: () => this.#workOnLongTexts(),
    everyMs: POLL_INTERVAL_MS,
    retryMs: (failures) => (this.#failure === undefined ? STORAGE_BACKOFF : MODEL_BACKOFF)(failures),
  });
  readonly #batches = new BatchEmbedder((error) => this.#report('memory_without_vector', error), this.#task.signal);
  readonly #pieces = new BatchEmbedder((error) => this.#report('memory_without_vector', error), this.#task.signal);
  /** Embeddings of recent queries, by their exact text. */
  readonly #queries = new LRUCache<string, Embedding>({ max: MAX_CACHED_QUERIES });
  /** Pending query embeddings, so that concurrent equal queries share one computation. */
  readonly #pendingQueries = new Map<string, Promise<Embedding | undefined>>();
  #embedder: Embedder | undefined;
  /** The ranges of the model's cosines; undefined for those of the bundled model. */
  #scales: CosineScales | undefined;
  /**
   * Short memories that this process has just stored, in order, with their texts, which then need not be read from
   * storage. At most `MAX_AWAITED_BACKLOG`.
   */
  #fresh: PendingEmbedding[] = [];
  /** Approximate number of pending memories with short texts, including the fresh ones. */
  #backlog = 0;
  /** The last user of the last batch of short texts, and of the last long text, since the users take turns. */
  #lastUser: NamespaceUser | undefined;
  #lastLongUser: NamespaceUser | undefined;
  /** Whether a long text may have been stored since the last piece began. */
  #hasNewLongText = false;
  /** Whether the last read of storage found no pending memory with a short text, or with a long text. */
  readonly #isDone = { short: false, long: false };
  /** Whether storage may have pending memories other than the fresh ones. */
  #mayHaveMore = true;
  #polledAt = Number.NEGATIVE_INFINITY;
  /** The write of the last batch of vectors, which runs while the next batch is embedded. */
  #writing: Promise<void> = Promise.resolve();
  /** Number of batches that were read from a large backlog. */
  #backlogBatchCount = 0;
  /** The failure of the model; undefined once the model works again. */
  #failure: unknown;
  /** Whether another process has opened a different model after this process opened its model. */
  #isDisplaced = false;
  #reembedding: ReembeddingProgress | undefined;
  /** Ends the wait for the model to open. */
  #settleOpening: () => void = () => {};

  constructor(open: OpenEmbedder, storage: Storage, telemetry: Telemetry) {
    this.#open = open;
    this.#storage = storage;
    this.#telemetry = telemetry;
  }

  /**
   * `unavailable` until the model is open, from a failure until the model works again, and while the database uses the
   * model of another process.
   */
  get health(): EmbedderHealth {
    if (this.#isWorking) return { state: 'ready' };
    if (this.#isDisplaced) {
      const problem = 'another process has since opened the database with another model';
      return { state: 'unavailable', problem, option: 'embedder' };
    }
    if (this.#failure === undefined) return { state: 'unavailable', problem: 'the model is not open yet' };
    // Other messages may contain paths or texts that belong only in the log.
    if (!(this.#failure instanceof EmbedderUnavailable)) {
      return { state: 'unavailable', problem: 'the model fails; see the log' };
    }
    const { message, option } = this.#failure;
    return { state: 'unavailable', problem: message, ...(option && { option }) };
  }

  /** See `Embedder.onlyEnglish`; false until the model is open. */
  get onlyEnglish(): boolean {
    return this.#embedder?.onlyEnglish ?? false;
  }

  /** Starts the queue. Resolves when the model has opened or failed to open, or after 3 seconds. */
  async start(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, MAX_OPENING_WAIT_MS);
      this.#settleOpening = () => {
        clearTimeout(timer);
        resolve();
      };
      void this.#task.request();
    });
  }

  async stop(): Promise<void> {
    const stopped = Promise.all([this.#task.stop(), this.#longTask.stop()]);
    this.#waiting.releaseAll();
    await this.#embedder?.close();
    await stopped;
    await this.#awaitWrite().catch(() => {});
  }

  /**
   * Queues newly stored memories. Resolves when their vectors are written, of a long text those of its first piece, when
   * the model fails, or when 5 seconds have passed. Resolves at once if too many memories are pending or the model does
   * not work. Returns the embeddings that were computed until then, in the order of the memories.
   */
  async stored(memories: readonly PendingEmbedding[]): Promise<(Embedding | undefined)[]> {
    if (memories.length === 0) return [];
    const short = memories.filter(({ content }) => content.length <= EMBEDDING_LIMITS.shortText);
    if (short.length < memories.length) this.#lookForLongTexts();
    this.#backlog += short.length;
    if (!this.#isQuick) {
      this.#lookForShortTexts();
      return [];
    }
    this.#fresh.push(...short);
    void this.#task.request();
    return await Promise.all(memories.map(({ ordinal }) => this.#waiting.wait(ordinal)));
  }

  /** Queues a memory whose text has changed. Resolves like `stored`. */
  async changed(ordinal: number): Promise<Embedding | undefined> {
    this.#backlog += 1;
    this.look();
    return this.#isQuick ? await this.#waiting.wait(ordinal) : undefined;
  }

  /** True if new memories will have vectors soon, so that a store waits for the vectors. */
  get #isQuick(): boolean {
    return (
      this.#backlog <= MAX_AWAITED_BACKLOG && this.#isWorking && this.#task.failures === 0 && !this.#task.signal.aborted
    );
  }

  /**
   * Gives priority to a bulk store. During the store, background embedding pauses between batches; see `Backpressure`.
   */
  yieldTo(storing: Promise<unknown>): void {
    this.#backpressure.track(storing);
  }

  /** Checks storage for pending memories now. */
  look(): void {
    this.#lookForShortTexts();
    this.#lookForLongTexts();
  }

  #lookForShortTexts(): void {
    this.#mayHaveMore = true;
    void this.#task.request();
  }

  #lookForLongTexts(): void {
    this.#hasNewLongText = true;
    void this.#longTask.request();
  }

  /**
   * Returns the vector of a query, synchronously if the vector is cached or the model does not work. Without a cached
   * vector, returns undefined if the model does not work, fails, or cannot represent the query. Rejects with
   * UNAVAILABLE if too many queries wait.
   */
  queryVector(query: string): QueryVector | undefined | Promise<QueryVector | undefined> {
    const cached = this.#queries.get(query);
    if (cached || !this.#isWorking) return this.toQueryVector(query, cached);
    const pending = this.#pendingQueries.get(query) ?? this.#startQuery(query);
    return pending.then((embedding) => this.toQueryVector(query, embedding));
  }

  #startQuery(query: string): Promise<Embedding | undefined> {
    const pending = this.#embedQuery(query).finally(() => this.#pendingQueries.delete(query));
    this.#pendingQueries.set(query, pending);
    return pending;
  }

  /**
   * Returns the vector of a text for a search: of a memory with several parts, that of its first part. Undefined without
   * an embedding or a vector.
   */
  toQueryVector(text: string, { vectors: [values], states }: Embedding = { vectors: [] }): QueryVector | undefined {
    if (!values || !this.#embedder) return undefined;
    const scale = this.#scales && getCosineScale(this.#scales, text);
    return { modelId: this.#embedder.modelId, values, ...(states?.[0] && { states: states[0] }), scale };
  }

  async #embedQuery(query: string): Promise<Embedding | undefined> {
    try {
      const embedding = (await this.#embedder?.embed([query], 'query'))?.[0];
      if (embedding) this.#queries.set(copyString(query), embedding);
      return embedding;
    } catch (error) {
      if (error instanceof MemoryError) throw error;
      this.#report('query_embedding_failed', error);
      // The next queries use words only, without a delay, until the model works again.
      if (error instanceof EmbedderUnavailable) this.#markFailed(error);
      return undefined;
    }
  }

  get #isWorking(): boolean {
    return this.#embedder !== undefined && this.#failure === undefined && !this.#isDisplaced;
  }

  #markFailed(error: EmbedderUnavailable): void {
    this.#failure ??= error;
    void this.#task.request();
  }

  async #work(): Promise<'done'> {
    try {
      const embedder = await this.#getWorkingEmbedder();
      this.#settleOpening();
      const embedded = await this.#embedSome(embedder);
      if (embedded === 0) await this.#awaitWrite();
      else void this.#task.request();
    } catch (error) {
      const isDisplaced = await this.#checkDisplaced(error);
      if (!isDisplaced) this.#recordFailure(this.#embedder ? 'embedding_failed' : 'embedder_unavailable', error);
      this.#releaseWaiting();
      this.#settleOpening();
      if (!isDisplaced) throw error;
    }
    return 'done';
  }

  /**
   * Checks after a failure whether another process has switched to another model. If so, the switch is reported instead
   * of the failure.
   */
  async #checkDisplaced(error: unknown): Promise<boolean> {
    if (!this.#embedder || error instanceof StorageFailure || this.#task.signal.aborted) return false;
    const pending = await this.#storage
      .pendingEmbeddings(this.#embedder.modelId, MIN_BATCH_SIZE)
      .catch(() => undefined);
    if (pending?.isInUse !== false) return false;
    this.#noteModelInUse(this.#embedder, false);
    return true;
  }

  /** Returns the opened model. After a failure, tests the model first. */
  async #getWorkingEmbedder(): Promise<Embedder> {
    if (this.#embedder && this.#failure === undefined) return this.#embedder;
    this.#embedder ??= await this.#openModel();
    if (this.#failure !== undefined) await probe(this.#embedder);
    this.#failure = undefined;
    void this.#longTask.request();
    return this.#embedder;
  }

  async #openModel(): Promise<Embedder> {
    const embedder = await this.#open(this.#task.signal);
    try {
      this.#assertNotStopped();
      assertSearchable(embedder, this.#storage);
      const pendingCount = await wrapStorageFailure(this.#storage.useModel(embedder.modelId, this.#task.signal));
      this.#scales = await this.#getScales(embedder);
      this.#assertNotStopped();
      if (pendingCount > 0) {
        this.#reembedding = new ReembeddingProgress(this.#telemetry, embedder.modelId, pendingCount);
      }
      return embedder;
    } catch (error) {
      await embedder.close();
      throw error;
    }
  }

  /** Returns the ranges of a model's cosines, which are measured when a database uses the model for the first time. */
  async #getScales(embedder: Embedder): Promise<CosineScales | undefined> {
    if (embedder.hasUsualCosines) return undefined;
    const kept = await wrapStorageFailure(this.#storage.cosineScales());
    if (kept) return kept;
    const measured = await measureCosineScales(embedder);
    await wrapStorageFailure(this.#storage.keepCosineScales(embedder.modelId, measured));
    return measured;
  }

  /** Throws UNAVAILABLE after `stop`, since a model that opens later would not be closed. */
  #assertNotStopped(): void {
    if (this.#task.signal.aborted)
      throw new MemoryError('UNAVAILABLE', 'the embedder is closed; retry when it is open again');
  }

  /**
   * Embeds a batch of fresh memories. Then embeds a batch of other pending memories, if storage may have any or the
   * poll interval has passed. Returns the number of embedded memories.
   */
  async #embedSome(embedder: Embedder): Promise<number> {
    const isDue = performance.now() - this.#polledAt >= POLL_INTERVAL_MS;
    const fresh = this.#takeFresh();
    if (fresh.length > 0) await this.#embedBatch(embedder, fresh);
    if (!this.#mayHaveMore && !isDue) return fresh.length;
    return fresh.length + (await this.#embedOthers(embedder));
  }

  #takeFresh(): PendingEmbedding[] {
    const [batch = []] = splitIntoBatches(this.#fresh);
    this.#fresh = this.#fresh.slice(batch.length);
    return batch;
  }

  async #embedOthers(embedder: Embedder): Promise<number> {
    await this.#awaitWrite();
    const awaited = this.#waiting.ordinals;
    const hasLargeBacklog = awaited.length === 0 && this.#backlog > MAX_AWAITED_BACKLOG;
    const limits = hasLargeBacklog ? getBacklogBatch(this.#backlogBatchCount++) : BATCH;
    this.#polledAt = performance.now();
    this.#mayHaveMore = false;
    const batch = { ...limits, after: this.#lastUser, awaited };
    const pending = await wrapStorageFailure(this.#storage.pendingEmbeddings(embedder.modelId, batch));
    const { isInUse, memories, reembed, waiting, after, settled } = pending;
    this.#noteModelInUse(embedder, isInUse);
    this.#backlog = waiting;
    this.#lastUser = after;
    this.#isDone.short = memories.length === 0;
    // Another process may have embedded or deleted memories, and embeds all if this model is not in use.
    this.#waiting.release(isInUse ? settled : awaited);
    if (memories.length > 0) {
      this.#mayHaveMore = true;
      const read = new Set(memories.map(({ ordinal }) => ordinal));
      this.#fresh = this.#fresh.filter(({ ordinal }) => !read.has(ordinal));
      const embed = () => this.#embedAll(embedder, memories);
      // Texts by consolidation can wait. Re-embedding after a change of the model is not paced, since recall by vectors
      // is incomplete until re-embedding ends.
      const isByConsolidation = reembed && !this.#reembedding;
      await (isByConsolidation ? paced(embed) : embed());
      if (reembed) this.#reembedding?.advance(memories.length);
    } else this.#endReembedding();
    return memories.length;
  }

  async #workOnLongTexts(): Promise<Outcome> {
    if (!this.#embedder || !this.#isWorking) return 'done';
    try {
      return (await this.#embedLongText(this.#embedder)) ? 'more' : 'done';
    } catch (error) {
      if (await this.#checkDisplaced(error)) return 'done';
      this.#recordFailure('embedding_failed', error);
      // Tests the model.
      void this.#task.request();
      throw error;
    }
  }

  /** Embeds the next piece of a long text. Returns false if no long text is pending. */
  async #embedLongText(embedder: Embedder): Promise<boolean> {
    this.#hasNewLongText = false;
    const batch = { ...NEXT_LONG_TEXT, after: this.#lastLongUser };
    const pending = await wrapStorageFailure(this.#storage.pendingEmbeddings(embedder.modelId, batch));
    const [text] = pending.memories;
    this.#noteModelInUse(embedder, pending.isInUse);
    this.#lastLongUser = pending.after;
    this.#isDone.long = !text;
    if (!text) {
      this.#endReembedding();
      return false;
    }
    const isEmbedded = await this.#embedPiece(embedder, text);
    if (isEmbedded && pending.reembed) this.#reembedding?.advance(1);
    return true;
  }

  /** Embeds the next piece of a text and writes its vectors. Returns true if the text is embedded to its end. */
  async #embedPiece(embedder: Embedder, text: PendingEmbedding): Promise<boolean> {
    const startedAt = performance.now();
    const { from = 0 } = text;
    const end = from + Math.max(PIECE.minChars, from * PIECE.minShare);
    let piece: MemoryVectors | undefined;
    try {
      do {
        if (this.#waiting.ordinals.length === 0) await this.#backpressure.pause(this.#pieces.tookMs);
        const rest = { ...text, from: piece?.next ?? from };
        const [parts] = (await this.#pieces.getVectors(embedder, [rest])) as [MemoryVectors];
        piece = piece ? joinPieces(piece, parts) : parts;
      } while (
        piece.next !== undefined &&
        piece.next < end &&
        performance.now() - startedAt < MAX_PIECE_MS &&
        !this.#hasNewLongText
      );
      return piece.next === undefined;
    } finally {
      // A failure of the model does not lose the parts before.
      if (piece) await this.#write(embedder, [piece]);
    }
  }

  async #embedAll(embedder: Embedder, memories: readonly PendingEmbedding[]): Promise<void> {
    for (const batch of splitIntoBatches(memories)) await this.#embedBatch(embedder, batch);
    await this.#awaitWrite();
  }

  /** Embeds a batch while the vectors of the previous batch are written, so that the model is not idle. */
  async #embedBatch(embedder: Embedder, memories: PendingEmbedding[]): Promise<void> {
    const vectors = await this.#getVectorsAfterPause(embedder, memories);
    await this.#awaitWrite();
    this.#writing = this.#write(embedder, vectors).then((written) => {
      this.#backlog = Math.max(0, this.#backlog - written);
    });
    // Prevents an unhandled rejection; the next `#awaitWrite` rejects.
    this.#writing.catch(() => {});
  }

  /** Writes vectors and returns the number of memories that were written. */
  async #write({ modelId }: Embedder, vectors: MemoryVectors[]): Promise<number> {
    const written = await wrapStorageFailure(this.#storage.putVectors(modelId, vectors));
    this.#waiting.release(written, vectors);
    // The other memories have changed, or another model is in use.
    if (written.length < vectors.length) this.look();
    // The rest of a text is embedded as that of a long text.
    if (vectors.some(({ next }) => next !== undefined)) void this.#longTask.request();
    return written.length;
  }

  /** Waits for the current write of vectors. Rejects once if the write failed. */
  async #awaitWrite(): Promise<void> {
    const writing = this.#writing;
    try {
      await writing;
    } finally {
      if (this.#writing === writing) this.#writing = Promise.resolve();
    }
  }

  /** Ends the re-embedding if neither short nor long texts are pending. */
  #endReembedding(): void {
    if (!this.#isDone.short || !this.#isDone.long) return;
    if (!this.#isDisplaced) this.#reembedding?.end();
    this.#reembedding = undefined;
  }

  #noteModelInUse({ modelId }: Embedder, isOurs: boolean): void {
    if (this.#isDisplaced === !isOurs) return;
    this.#isDisplaced = !isOurs;
    if (isOurs) void this.#longTask.request();
    this.#telemetry.report({
      level: isOurs ? 'info' : 'warn',
      component: 'embedding',
      event: isOurs ? 'embedder_restored' : 'embedder_displaced',
      facts: { model: modelId, ...(!isOurs && { option: 'embedder' }) },
    });
  }

  async #getVectorsAfterPause(embedder: Embedder, memories: PendingEmbedding[]): Promise<MemoryVectors[]> {
    if (this.#waiting.ordinals.length === 0) await this.#backpressure.pause(this.#batches.tookMs);
    return await this.#batches.getVectors(embedder, memories);
  }

  #recordFailure(event: string, error: unknown): void {
    if (this.#task.signal.aborted) return;
    if (error instanceof StorageFailure) this.#report('vectors_not_kept', error.cause);
    else {
      this.#failure = error;
      this.#report(event, error);
    }
  }

  /** Releases all waiting stores and drops the fresh memories, whose texts will be read from storage. */
  #releaseWaiting(): void {
    this.#fresh = [];
    this.#mayHaveMore = true;
    this.#waiting.releaseAll();
  }

  #report(event: string, error: unknown): void {
    const option = error instanceof EmbedderUnavailable ? error.option : undefined;
    this.#telemetry.report({
      level: 'error',
      component: 'embedding',
      event,
      error,
      ...(option && { facts: { option } }),
    });
  }
}

/**
 * A failure of storage, such as to read pending memories or to write vectors. If the model is open, queries continue to
 * use vectors.
 */
class StorageFailure extends Error {}

async function wrapStorageFailure<T>(operation: Promise<T>): Promise<T> {
  try {
    return await operation;
  } catch (cause) {
    throw new StorageFailure('storage failed', { cause });
  }
}

// Checked before the model is used, so that no vectors are stored that search cannot read.
function assertSearchable({ dimensions }: Embedder, { maxDimensions }: Storage): void {
  if (dimensions <= maxDimensions) return;
  const limit = `vectors of ${dimensions} dimensions; the database supports at most ${maxDimensions}`;
  throw new EmbedderUnavailable(`the model makes ${limit}`, { option: 'embedder' });
}
