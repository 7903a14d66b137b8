import type { EmbedderState } from '@memoryd/contract';
import { MemoryError } from '@memoryd/contract';
import { LRUCache } from 'lru-cache';
import { BackgroundTask, doubling } from '../../concurrency/background-task.ts';
import {
  type Embedder,
  type EmbedderOption,
  EmbedderUnavailable,
  type Embedding,
  type OpenEmbedder,
} from '../../ports/embedder.ts';
import type { Telemetry } from '../../ports/runtime.ts';
import type { Storage } from '../../ports/storage.ts';
import type { QueryVector } from '../../ports/storage-search.ts';
import type { MemoryVectors, PendingEmbedding } from '../../ports/storage-vectors.ts';
import { ownCopy } from '../text/fold.ts';
import { paced } from '../time.ts';
import { BATCH, BatchEmbedding, batchOfMany, probe, splitIntoBatches } from './batch-embedding.ts';
import { GivingWay } from './giving-way.ts';
import { Reembedding } from './reembedding.ts';
import { WaitingStores } from './waiting-stores.ts';

/** While at most this many memories are pending, a store waits for its own vectors. */
const MAX_WAITED_FOR = 64;

/** Longest that a start waits for the model to open; it goes on opening after that. */
const OPENING_WAITED_FOR_MS = 3000;

/** Recent queries whose vectors are kept: at most 32 KiB each, with the longest text and as many dimensions as a database takes. */
const QUERIES_KEPT = 1000;

/** After a failure the queue rests, twice as long each time in a row; less long where only storage failed. */
const FIRST_REST_MS = 500;
const MODEL_REST = doubling(FIRST_REST_MS, 60_000);
const STORAGE_REST = doubling(FIRST_REST_MS, 5000);

/** Interval for looking in storage for memories that another process left without vectors, and for the model in use. */
const LOOK_EVERY_MS = 5000;

/** Reads as little as can be: the model in use is told with what is pending. */
const ONE = { ...BATCH, limit: 1 };

/** Whether recall by meaning works, and what keeps it from working. */
export interface EmbedderHealth {
  state: EmbedderState;
  /** Half a sentence without secrets, such as "the model is not open yet". */
  problem?: string;
  /** The option to look at, where one is likely to be wrong. */
  option?: EmbedderOption;
}

/**
 * Gives memories their vectors in order of arrival, and queries theirs. Storage knows which memories are pending, so
 * they survive the process; the queue itself holds the texts of a few that were just stored, and the stores that wait. It opens the model by itself and goes on trying
 * while that fails, so a model that comes back is used without a restart. Of several models on one database, by several
 * processes, the one that was opened last is used; a queue with another rests and lets recall go by words.
 */
export class EmbeddingQueue {
  readonly #open: OpenEmbedder;
  readonly #storage: Storage;
  readonly #telemetry: Telemetry;
  readonly #waiting = new WaitingStores();
  readonly #givingWay = new GivingWay();
  readonly #task = new BackgroundTask({
    run: () => this.#work(),
    everyMs: LOOK_EVERY_MS,
    retryMs: (failures) => (this.#failure === undefined ? STORAGE_REST : MODEL_REST)(failures),
  });
  readonly #batches = new BatchEmbedding((error) => this.#report('memory_without_vector', error), this.#task.signal);
  /** Vectors of recent queries, by their exact text. */
  readonly #queries = new LRUCache<string, Embedding>({ max: QUERIES_KEPT });
  /** Those under way, so that equal queries at the same time share one computation. */
  readonly #queriesUnderWay = new Map<string, Promise<Embedding | undefined>>();
  #embedder: Embedder | undefined;
  /** Texts that this process has just stored, in order: they need not be read again. */
  #fresh: PendingEmbedding[] = [];
  /** About how many memories are pending, the fresh ones included. */
  #backlog = 0;
  /** Whether storage may have pending memories that are not fresh. */
  #mayHaveOthers = true;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** The write of the last batch's vectors, which goes on while the next batch is embedded. */
  #writing: Promise<void> = Promise.resolve();
  /** How often something was taken out of many that wait. */
  #takenOfMany = 0;
  /** The last failure, while nothing has shown since that the model works. */
  #failure: unknown;
  /** Whether another process has opened another model since. */
  #displaced = false;
  #reembedding: Reembedding | undefined;
  /** Ends the wait for the model to open. */
  #settleOpening: () => void = () => {};

  constructor(open: OpenEmbedder, storage: Storage, telemetry: Telemetry) {
    this.#open = open;
    this.#storage = storage;
    this.#telemetry = telemetry;
  }

  /** `unavailable` until the model is open, and after a failure until it has shown that it works. */
  get health(): EmbedderHealth {
    if (this.#works) return { state: 'ready' };
    if (this.#displaced) {
      const problem = 'another process has since opened the database with another model';
      return { state: 'unavailable', problem, option: 'embedder' };
    }
    if (this.#failure === undefined) return { state: 'unavailable', problem: 'the model is not open yet' };
    // Other messages may name paths or quote what only the log should hold.
    if (!(this.#failure instanceof EmbedderUnavailable)) {
      return { state: 'unavailable', problem: 'the model fails, as the log says' };
    }
    const { message, option } = this.#failure;
    return { state: 'unavailable', problem: message, ...(option && { option }) };
  }

  /** See `Embedder.onlyEnglish`; false until the model is open. */
  get onlyEnglish(): boolean {
    return this.#embedder?.onlyEnglish ?? false;
  }

  /** Begins. Resolves when the model is open or has failed to open, or opens for so long that nobody should wait. */
  async start(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, OPENING_WAITED_FOR_MS);
      this.#settleOpening = () => {
        clearTimeout(timer);
        resolve();
      };
      void this.#task.request();
    });
  }

  async stop(): Promise<void> {
    const stopped = this.#task.stop();
    this.#waiting.releaseAll();
    await this.#embedder?.close();
    await stopped;
    await this.#written().catch(() => {});
  }

  /**
   * Queues memories that have just been stored. Resolves when their vectors are written, or at once where too many are
   * pending or the model does not work.
   */
  async stored(memories: readonly PendingEmbedding[]): Promise<void> {
    if (memories.length === 0) return;
    this.#backlog += memories.length;
    if (!this.#isQuick) return this.look();
    this.#fresh.push(...memories);
    void this.#task.request();
    await Promise.all(memories.map(({ ordinal }) => this.#waiting.wait(ordinal)));
  }

  /** Queues a memory whose text has changed; resolves as `stored` does. */
  async changed(ordinal: number): Promise<void> {
    this.#backlog += 1;
    this.look();
    if (this.#isQuick) await this.#waiting.wait(ordinal);
  }

  /** Whether what is added now is embedded soon. */
  get #isQuick(): boolean {
    return this.#backlog <= MAX_WAITED_FOR && this.#works && this.#task.failures === 0 && !this.#task.signal.aborted;
  }

  /** Lets many memories be stored first: while they are, what nobody waits for is embedded in a quarter of the time. */
  giveWayTo(storing: Promise<unknown>): void {
    this.#givingWay.to(storing);
  }

  /** Looks for pending memories in storage at once. */
  look(): void {
    this.#mayHaveOthers = true;
    void this.#task.request();
  }

  /**
   * The vector of a query, at once where it was asked lately; undefined when the model knows nothing of it, is known not to
   * work or, having said so, fails. UNAVAILABLE when too many queries wait.
   */
  queryVector(query: string): QueryVector | undefined | Promise<QueryVector | undefined> {
    const known = this.#queries.get(query);
    if (known || !this.#works) return this.#ofModel(known);
    const underWay = this.#queriesUnderWay.get(query) ?? this.#beginQuery(query);
    return underWay.then((made) => this.#ofModel(made));
  }

  #beginQuery(query: string): Promise<Embedding | undefined> {
    const begun = this.#embedQuery(query).finally(() => this.#queriesUnderWay.delete(query));
    this.#queriesUnderWay.set(query, begun);
    return begun;
  }

  #ofModel({ vectors: [values], states }: Embedding = { vectors: [] }): QueryVector | undefined {
    if (!values || !this.#embedder) return undefined;
    return { modelId: this.#embedder.modelId, values, ...(states?.[0] && { states: states[0] }) };
  }

  async #embedQuery(query: string): Promise<Embedding | undefined> {
    try {
      const made = (await this.#embedder?.embed([query], 'query'))?.[0];
      if (made) this.#queries.set(ownCopy(query), made);
      return made;
    } catch (error) {
      if (error instanceof MemoryError) throw error;
      this.#report('query_embedding_failed', error);
      // The next queries go by words at once, until the model has shown that it works.
      if (error instanceof EmbedderUnavailable) this.#doubt(error);
      return undefined;
    }
  }

  get #works(): boolean {
    return this.#embedder !== undefined && this.#failure === undefined && !this.#displaced;
  }

  #doubt(error: EmbedderUnavailable): void {
    this.#failure ??= error;
    void this.#task.request();
  }

  async #work(): Promise<'done'> {
    try {
      const embedder = await this.#prepare();
      this.#settleOpening();
      const embedded = await this.#embedSome(embedder);
      if (embedded === 0) await this.#written();
      else void this.#task.request();
    } catch (error) {
      const isDisplaced = await this.#looksDisplaced(error);
      if (!isDisplaced) this.#note(this.#embedder ? 'embedding_failed' : 'embedder_unavailable', error);
      this.#giveUpWaiting();
      this.#settleOpening();
      if (!isDisplaced) throw error;
    }
    return 'done';
  }

  /** Whether a model that has just failed is no longer in use, which explains more than its failure does. */
  async #looksDisplaced(error: unknown): Promise<boolean> {
    if (!this.#embedder || error instanceof StorageFailure || this.#task.signal.aborted) return false;
    const pending = await this.#storage.pendingEmbeddings(this.#embedder.modelId, ONE).catch(() => undefined);
    if (pending?.isInUse !== false) return false;
    this.#noteModelInUse(this.#embedder, false);
    return true;
  }

  /** The model, opened, and asked where there is doubt whether it works. */
  async #prepare(): Promise<Embedder> {
    this.#embedder ??= await this.#openModel();
    if (this.#failure !== undefined) await probe(this.#embedder);
    this.#failure = undefined;
    return this.#embedder;
  }

  async #openModel(): Promise<Embedder> {
    const embedder = await this.#open(this.#task.signal);
    try {
      this.#assertGoesOn();
      assertSearchable(embedder, this.#storage);
      const anew = await ofStorage(this.#storage.useModel(embedder.modelId, this.#task.signal));
      this.#assertGoesOn();
      if (anew > 0) this.#reembedding = new Reembedding(this.#telemetry, embedder.modelId, anew);
      return embedder;
    } catch (error) {
      await embedder.close();
      throw error;
    }
  }

  /** What is opened after the end would not be closed. */
  #assertGoesOn(): void {
    if (this.#task.signal.aborted) throw new MemoryError('UNAVAILABLE', 'the embedder is closed');
  }

  /** Embeds what is fresh and what else is pending in turn; returns how many memories it has embedded. */
  async #embedSome(embedder: Embedder): Promise<number> {
    const isDue = performance.now() - this.#lookedAt >= LOOK_EVERY_MS;
    const fresh = this.#takeFresh();
    if (fresh.length > 0) await this.#embedBatch(embedder, fresh);
    if (!this.#mayHaveOthers && !isDue) return fresh.length;
    return fresh.length + (await this.#embedOthers(embedder));
  }

  #takeFresh(): PendingEmbedding[] {
    const [batch = []] = splitIntoBatches(this.#fresh);
    this.#fresh = this.#fresh.slice(batch.length);
    return batch;
  }

  async #embedOthers(embedder: Embedder): Promise<number> {
    await this.#written();
    const waited = this.#waiting.ordinals;
    const isOfMany = waited.length === 0 && this.#backlog > MAX_WAITED_FOR;
    const batch = isOfMany ? batchOfMany(this.#takenOfMany++) : BATCH;
    this.#lookedAt = performance.now();
    this.#mayHaveOthers = false;
    const pending = await ofStorage(this.#storage.pendingEmbeddings(embedder.modelId, batch));
    const { isInUse, memories, anew, waiting } = pending;
    this.#noteModelInUse(embedder, isInUse);
    this.#backlog = waiting;
    // In order: whatever was stored before the first pending memory has the vectors of its newest text. Texts that had
    // vectors, and texts by consolidation, come after all that a client waits for.
    const first = (anew ? undefined : memories[0]?.ordinal) ?? Number.POSITIVE_INFINITY;
    this.#waiting.release(waited.filter((ordinal) => ordinal < first));
    if (memories.length > 0) {
      this.#mayHaveOthers = true;
      const read = new Set(memories.map(({ ordinal }) => ordinal));
      this.#fresh = this.#fresh.filter(({ ordinal }) => !read.has(ordinal));
      const embedding = () => this.#embedAll(embedder, memories);
      // A text by consolidation can wait; where the model has changed, recall has the less to go by the longer it takes.
      const isOfConsolidation = anew && !this.#reembedding;
      await (isOfConsolidation ? paced(embedding) : embedding());
      if (anew) this.#reembedding?.advance(memories.length);
    } else this.#endReembedding();
    return memories.length;
  }

  async #embedAll(embedder: Embedder, memories: readonly PendingEmbedding[]): Promise<void> {
    for (const batch of splitIntoBatches(memories)) await this.#embedBatch(embedder, batch);
    await this.#written();
  }

  /** Embeds a batch while the vectors of the one before it are written, so that the model does not rest meanwhile. */
  async #embedBatch(embedder: Embedder, memories: PendingEmbedding[]): Promise<void> {
    const vectors = await this.#vectorsInTurn(embedder, memories);
    await this.#written();
    this.#writing = this.#write(embedder, vectors);
    // The next `#written` rejects.
    this.#writing.catch(() => {});
  }

  async #write({ modelId }: Embedder, vectors: MemoryVectors[]): Promise<void> {
    const written = await ofStorage(this.#storage.putVectors(modelId, vectors));
    this.#backlog = Math.max(0, this.#backlog - written.length);
    this.#waiting.release(written);
    // The others have changed, or another model is in use.
    if (written.length < vectors.length) this.look();
  }

  /** Resolves when no vectors are being written; rejects once where writing them failed. */
  async #written(): Promise<void> {
    const writing = this.#writing;
    try {
      await writing;
    } finally {
      if (this.#writing === writing) this.#writing = Promise.resolve();
    }
  }

  #endReembedding(): void {
    if (!this.#displaced) this.#reembedding?.end();
    this.#reembedding = undefined;
  }

  #noteModelInUse({ modelId }: Embedder, isOurs: boolean): void {
    if (this.#displaced === !isOurs) return;
    this.#displaced = !isOurs;
    this.#telemetry.report({
      level: isOurs ? 'info' : 'warn',
      component: 'embedding',
      event: isOurs ? 'embedder_restored' : 'embedder_displaced',
      facts: { model: modelId, ...(!isOurs && { option: 'embedder' }) },
    });
  }

  async #vectorsInTurn(embedder: Embedder, memories: PendingEmbedding[]): Promise<MemoryVectors[]> {
    if (this.#waiting.ordinals.length === 0) await this.#givingWay.pause(this.#batches.tookMs);
    return await this.#batches.getVectors(embedder, memories);
  }

  #note(event: string, error: unknown): void {
    if (this.#task.signal.aborted) return;
    if (error instanceof StorageFailure) this.#report('vectors_not_kept', error.cause);
    else {
      this.#failure = error;
      this.#report(event, error);
    }
  }

  /** Releases all stores that wait. Their texts are read from storage again. */
  #giveUpWaiting(): void {
    this.#fresh = [];
    this.#mayHaveOthers = true;
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

/** Storage could not tell what waits, or keep vectors: that says nothing of the model, and queries go on by meaning. */
class StorageFailure extends Error {}

async function ofStorage<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (cause) {
    throw new StorageFailure('storage failed', { cause });
  }
}

// Before the model is used: the file would name vectors that no search can read.
function assertSearchable({ dimensions }: Embedder, { mostDimensions }: Storage): void {
  if (dimensions <= mostDimensions) return;
  const what = `vectors of ${dimensions} numbers, where at most ${mostDimensions} can be searched`;
  throw new EmbedderUnavailable(`the model makes ${what}`, { option: 'embedder' });
}
