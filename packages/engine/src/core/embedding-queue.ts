import type { EmbedderState } from '@memoryd/contract';
import { MemoryError } from '@memoryd/contract';
import type { Embedder } from '../ports/embedder.ts';
import type { MemoryVectors, PendingEmbedding, Storage } from '../ports/storage.ts';
import type { Telemetry } from '../ports/telemetry.ts';

/**
 * While at most so many memories, and about so many characters of them, wait for their vectors, a store waits for its
 * own. The characters are those of as many texts of one part each, so that a book holds up nobody for longer.
 */
const WAITED_FOR = 64;
const WAITED_FOR_CHARS = WAITED_FOR * 1024;

/** Memories that are embedded and kept together, and about how many characters of them. */
const BATCH_SIZE = 32;
const BATCH_CHARS = 16_384;

/** After a failure the queue rests, twice as long each time in a row. */
const FIRST_REST_MS = 500;
const LONGEST_REST_MS = 60_000;

/** How often it is looked for memories that another process left without vectors. */
const LOOK_EVERY_MS = 30_000;

/** Any text that every model can embed, to tell a text that cannot be embedded from a model that does not work. */
const PROBE = 'memory';

/**
 * Gives memories their vectors in order of arrival. What waits is kept in storage, so it survives the process; the
 * queue itself holds only who waits for an answer.
 */
export class EmbeddingQueue {
  readonly #embedder: Embedder;
  readonly #storage: Storage;
  readonly #telemetry: Telemetry;
  readonly #waiters = new Map<number, (() => void)[]>();
  #backlog = { memories: 0, chars: 0 };
  #woken = true;
  #wake: () => void = () => {};
  #stopped = false;
  #failures = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(embedder: Embedder, storage: Storage, telemetry: Telemetry) {
    this.#embedder = embedder;
    this.#storage = storage;
    this.#telemetry = telemetry;
  }

  /** `unavailable` after a failure, until the next success. */
  get state(): EmbedderState {
    return this.#failures > 0 ? 'unavailable' : 'ready';
  }

  async start(): Promise<void> {
    await this.#storage.useModel(this.#embedder.modelId);
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#rouse();
    for (const ordinal of this.#waiters.keys()) this.#release(ordinal);
    await this.#embedder.close();
    await this.#running;
  }

  /**
   * Tells that so many memories of so many characters wait, the last of them at an ordinal. Resolves when their vectors
   * are in, or at once where too much waits or none can be made.
   */
  async added(ordinal: number, chars: number, count = 1): Promise<void> {
    this.#backlog.memories += count;
    this.#backlog.chars += chars;
    this.#rouse();
    const { memories, chars: waiting } = this.#backlog;
    if (memories > WAITED_FOR || waiting > WAITED_FOR_CHARS || this.#failures > 0 || this.#stopped) return;
    await new Promise<void>((resolve) => {
      const waiters = this.#waiters.get(ordinal);
      if (waiters) waiters.push(resolve);
      else this.#waiters.set(ordinal, [resolve]);
    });
  }

  /**
   * The vector of a query; undefined when the model knows nothing of it or, having said so, when the model fails.
   * UNAVAILABLE when too many queries wait.
   */
  async queryVector(query: string): Promise<{ modelId: string; values: Float32Array } | undefined> {
    try {
      const [vectors] = await this.#embedder.embed([query], 'query');
      const values = vectors?.[0];
      return values && { modelId: this.#embedder.modelId, values };
    } catch (error) {
      if (error instanceof MemoryError) throw error;
      this.#telemetry.report({ level: 'error', component: 'embedding', event: 'query_embedding_failed', error });
      return undefined;
    }
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        this.#woken = false;
        const embedded = await this.#embedSome();
        this.#failures = 0;
        if (embedded === 0 && !this.#woken) await this.#sleep(LOOK_EVERY_MS);
      } catch (error) {
        await this.#rest(error);
      }
    }
  }

  async #embedSome(): Promise<number> {
    const waited = [...this.#waiters.keys()];
    const { memories, waiting } = await this.#storage.pendingEmbeddings(this.#embedder.modelId, {
      limit: BATCH_SIZE,
      maxChars: BATCH_CHARS,
    });
    this.#backlog = waiting;
    // In order: whatever came before the first that still waits has its vectors, and of its newest text.
    const first = memories[0]?.ordinal ?? Number.POSITIVE_INFINITY;
    for (const ordinal of waited) if (ordinal < first) this.#release(ordinal);
    if (memories.length > 0) {
      await this.#storage.putVectors(this.#embedder.modelId, await this.#vectorsOf(memories));
    }
    return memories.length;
  }

  async #vectorsOf(memories: PendingEmbedding[]): Promise<MemoryVectors[]> {
    try {
      const vectors = await this.#embedder.embed(
        memories.map((memory) => memory.content),
        'memory',
      );
      return memories.map(({ ordinal, version }, i) => ({ ordinal, version, vectors: vectors[i] as Float32Array[] }));
    } catch (error) {
      if (this.#stopped) throw error;
      return await this.#vectorsOneByOne(memories);
    }
  }

  // A text that cannot be embedded must not keep the others waiting: it stays found by its words, and that is said.
  async #vectorsOneByOne(memories: PendingEmbedding[]): Promise<MemoryVectors[]> {
    await this.#embedder.embed([PROBE], 'memory');
    const embedded: MemoryVectors[] = [];
    for (const { ordinal, version, content } of memories) {
      try {
        const [vectors] = await this.#embedder.embed([content], 'memory');
        embedded.push({ ordinal, version, vectors: vectors as Float32Array[] });
      } catch (error) {
        embedded.push({ ordinal, version, vectors: [] });
        this.#telemetry.report({ level: 'error', component: 'embedding', event: 'memory_without_vector', error });
      }
    }
    return embedded;
  }

  async #rest(error: unknown): Promise<void> {
    if (this.#stopped) return;
    this.#telemetry.report({ level: 'error', component: 'embedding', event: 'embedding_failed', error });
    for (const ordinal of this.#waiters.keys()) this.#release(ordinal);
    await this.#sleep(Math.min(FIRST_REST_MS * 2 ** this.#failures++, LONGEST_REST_MS));
  }

  #release(ordinal: number): void {
    for (const resolve of this.#waiters.get(ordinal) ?? []) resolve();
    this.#waiters.delete(ordinal);
  }

  #rouse(): void {
    this.#woken = true;
    // A rest after a failure is not cut short by what arrives.
    if (this.#failures === 0 || this.#stopped) this.#wake();
  }

  /** Ends early when roused. */
  async #sleep(ms: number): Promise<void> {
    if (this.#stopped) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      timer.unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
