import { once } from 'node:events';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { LIMITS, MemoryError } from '@memoryd/contract';
import type { OwnerFilter } from '@memoryd/search';
import { LRUCache } from 'lru-cache';
import { FairQueue } from '../concurrency/fair-queue.ts';
import { toPurpose } from '../cursor.ts';
import type { ForgottenScope, ScopeListener } from '../forgotten-scopes.ts';
import type { Clock, Telemetry } from '../ports/runtime.ts';
import type { Storage } from '../ports/storage.ts';
import type { MemoryOutline } from '../ports/storage-memories.ts';
import { type ComputedMap, emptyMap, type MapSlice } from './compute-map.ts';

/**
 * Age at which a map is computed again, if it is asked for and its memories have changed: the larger the map is, the later,
 * because it costs more and a change changes it less.
 */
const MIN_AGE_MS = 2000;
const AGE_PER_MEMORY_MS = 3;

/** Time after a failure in which requests fail, instead of computing the map again. */
const RETRY_MS = 10_000;

const MAX_COMPUTE_MS = 180_000;

const CACHE = { max: 64, maxSize: 32 * 2 ** 20 };

/** Memories that are read at once. */
const SLICE_MEMORIES = 1000;

/** Characters of a text that name its cluster. A text usually states its topic first. */
const TEXT_CHARS = 200;

const QUEUE = { maxRunning: 1, maxWaiting: 64, timeoutMs: 10 * 60 * 1000 };

/** The places of the newest memories of a scope, as of the time `at`. */
export interface MemoryMap extends ComputedMap {
  at: number;
}

/** A map with the scope and the state of its memories. `missing`: ordinals of the memories that had no vectors. */
interface CachedMap {
  map: MemoryMap;
  missing: readonly number[];
  namespace: string;
  of: OwnerFilter;
  state: string;
  checkedAt: number;
}

/** The map of a scope. */
interface MapScope {
  namespace: string;
  of: OwnerFilter;
  key: string;
}

/** A map that is being computed. `isForgotten`: its memories have been forgotten meanwhile. */
interface Running extends MapScope {
  isForgotten: boolean;
}

interface MapsOptions {
  storage: Storage;
  clock: Clock;
  telemetry: Telemetry;
}

/**
 * The maps of scopes, which a thread computes one after another, the namespaces in turn. A map is returned as it was
 * computed last; a newer one is computed only when the map is asked for.
 */
export class MemoryMaps implements ScopeListener {
  readonly #options: MapsOptions;
  readonly #maps = new LRUCache<string, CachedMap>({ ...CACHE, sizeCalculation: getBytes });
  readonly #failures = new LRUCache<string, number>({ max: CACHE.max });
  /** The maps that are being computed or wait for it, by key. */
  readonly #pending = new Map<string, Running>();
  readonly #queue = new FairQueue(QUEUE, {
    full: 'too many maps are waiting to be computed; retry later',
    timeout: 'the map has waited too long to be computed; retry later',
  });
  readonly #closing = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(options: MapsOptions) {
    this.#options = options;
  }

  /**
   * Returns the last map of the memories of a scope, if there is one, and whether a newer one is being computed. Throws
   * UNAVAILABLE if the computation has failed just now.
   */
  async get(namespace: string, of: OwnerFilter): Promise<{ map: MemoryMap | undefined; isChanging: boolean }> {
    const { storage, clock } = this.#options;
    const scope = { namespace, of, key: toPurpose('map', { namespace, filters: of }) };
    if (this.#isPending(scope)) return { map: this.#maps.get(scope.key)?.map, isChanging: true };
    const known = this.#maps.get(scope.key);
    const now = clock.now();
    if (known && !isOld(known, now)) return { map: known.map, isChanging: false };
    const failedAt = this.#failures.get(scope.key);
    if (failedAt !== undefined && now >= failedAt && now - failedAt < RETRY_MS) {
      throw new MemoryError('UNAVAILABLE', 'the map could not be computed; retry later');
    }
    const { count, lastOrdinal, changedAt } = await storage.scopeState(namespace, of, now);
    const state = `${count} ${lastOrdinal} ${changedAt}`;
    if (known && known.state === state && !(await this.#hasVectors(namespace, known.missing))) {
      known.checkedAt = now;
      return { map: known.map, isChanging: false };
    }
    const hasModel = (await storage.firstVectors(namespace, [])) !== undefined;
    if (count === 0 || !hasModel) return { map: { ...emptyMap(), at: now }, isChanging: false };
    this.#begin(scope, state);
    return { map: known?.map, isChanging: true };
  }

  /** Drops the maps of a scope. The map of a wider scope stays: a response has only its memories that still exist. */
  forget({ namespace, userId, agentId, sessionId }: ForgottenScope): void {
    if (sessionId !== undefined) return;
    const isOfScope = ({ of, ...map }: Pick<MapScope, 'namespace' | 'of'>) =>
      map.namespace === namespace &&
      (userId === undefined || of.userIds?.[0] === userId) &&
      (agentId === undefined || of.agentIds?.[0] === agentId);
    for (const [key, map] of [...this.#maps.entries()]) if (isOfScope(map)) this.#maps.delete(key);
    for (const running of this.#pending.values()) if (isOfScope(running)) running.isForgotten = true;
  }

  forgetAll(): void {
    this.#maps.clear();
    for (const running of this.#pending.values()) running.isForgotten = true;
  }

  /** Ends the computation in progress, and prevents others. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#queue.close('the service is stopping; retry later');
    await this.#running;
  }

  #isPending({ key }: MapScope): boolean {
    return this.#pending.has(key);
  }

  #begin(scope: MapScope, state: string): void {
    if (this.#closing.signal.aborted || this.#isPending(scope)) return;
    const running = { ...scope, isForgotten: false };
    this.#pending.set(scope.key, running);
    const computed = this.#compute(running, state).finally(() => this.#pending.delete(scope.key));
    this.#running = Promise.all([this.#running, computed]).then(() => {});
  }

  async #compute(running: Running, state: string): Promise<void> {
    const { clock, telemetry } = this.#options;
    const { namespace, of, key } = running;
    // Without a slot, the map is computed when it is asked for again.
    const release = await this.#queue.acquire(namespace).catch(() => undefined);
    if (!release) return;
    try {
      const at = clock.now();
      const { computed, missing } = await this.#run(running, at);
      const cached = { map: { ...computed, at }, missing, namespace, of, state, checkedAt: at };
      if (!running.isForgotten) this.#maps.set(key, cached);
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      this.#failures.set(key, clock.now());
      telemetry.report({ level: 'warn', component: 'map', event: 'map_failed', facts: { namespace }, error });
    } finally {
      release();
    }
  }

  /**
   * Reads the memories slice by slice, and computes their map in a thread. Also returns the ordinals of those without
   * vectors.
   */
  async #run({ namespace, of, key }: Running, now: number): Promise<{ computed: ComputedMap; missing: number[] }> {
    const { storage } = this.#options;
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(MAX_COMPUTE_MS)]);
    signal.throwIfAborted();
    const before = this.#maps.get(key)?.map;
    // The thread always runs the built file, even if the caller runs from source.
    const path = createRequire(import.meta.url).resolve('@memoryd/core/map-thread');
    const thread = new Worker(path, { workerData: { before } });
    // Rejects if the thread fails at any time, also while memories are read.
    const message = once(thread, 'message', { signal });
    message.catch(() => {});
    const missing: number[] = [];
    try {
      let after: MemoryOutline | undefined;
      for (let left: number = LIMITS.mappedMemories; left > 0; ) {
        const page = { limit: Math.min(left, SLICE_MEMORIES), textChars: TEXT_CHARS, ...(after && { after }) };
        const outlines = await storage.outlines(namespace, of, page, now);
        after = outlines.at(-1);
        left = outlines.length < page.limit ? 0 : left - outlines.length;
        const slice = await this.#toSlice(namespace, outlines);
        signal.throwIfAborted();
        const mapped = new Set(slice?.ordinals);
        missing.push(...outlines.map(({ ordinal }) => ordinal).filter((ordinal) => !mapped.has(ordinal)));
        if (slice) thread.postMessage(slice, [slice.vectors.buffer as ArrayBuffer]);
      }
      thread.postMessage('compute');
      const [computed] = (await message) as [ComputedMap];
      return { computed, missing };
    } finally {
      await thread.terminate();
    }
  }

  /** Returns whether some of these memories have vectors. */
  async #hasVectors(namespace: string, ordinals: readonly number[]): Promise<boolean> {
    for (let from = 0; from < ordinals.length; from += SLICE_MEMORIES) {
      const some = ordinals.slice(from, from + SLICE_MEMORIES);
      const found = await this.#options.storage.firstVectors(namespace, some);
      if (found && found.ordinals.length > 0) return true;
    }
    return false;
  }

  /** Returns the outlines of the memories that have vectors. */
  async #toSlice(namespace: string, outlines: readonly MemoryOutline[]): Promise<MapSlice | undefined> {
    const ordinals = outlines.map(({ ordinal }) => ordinal);
    const found = await this.#options.storage.firstVectors(namespace, ordinals);
    if (!found || found.ordinals.length === 0) return undefined;
    const byOrdinal = new Map(outlines.map((outline) => [outline.ordinal, outline]));
    const memories = found.ordinals.flatMap((ordinal) => byOrdinal.get(ordinal) ?? []);
    return {
      ordinals: found.ordinals,
      ids: memories.map(({ id }) => id),
      revisions: memories.map(({ revision }) => revision),
      texts: memories.map(({ text }) => text),
      vectors: found.vectors,
    };
  }
}

function isOld({ map, checkedAt }: CachedMap, now: number): boolean {
  const maxAgeMs = MIN_AGE_MS + AGE_PER_MEMORY_MS * map.ordinals.length;
  // The clock may have been set back.
  return now < checkedAt || now - checkedAt >= maxAgeMs;
}

/** Approximate size of a map in memory. */
function getBytes({ map: { ordinals, axes, groups }, missing }: CachedMap): number {
  const holders = groups.flatMap(({ words }) => words.flatMap((word) => word.holders)).length;
  return 1024 + ordinals.length * 17 + missing.length * 8 + axes.length * 8 + holders * 150;
}
