import type { NewMemory, Storage } from '@memoryd/core';
import type { KeyStore, PageRequest, RunRef, StepResult } from '@memoryd/core/ports';
import { CONSOLIDATION_LEASE, type Lease } from '@memoryd/core/ports';
import type { MemoryFilter, SearchRequest, Signals } from '@memoryd/search';
import { afterAll, afterEach, beforeEach, expect } from 'vitest';
import { newMemory } from './new-memory.fixture.ts';

/** An open database under test, empty at first. `reopen` closes it and opens the same database again. */
export interface StorageUnderTest {
  storage: Storage;
  lease: Lease;
  keys: KeyStore;
  reopen(): Promise<StorageUnderTest>;
  close(): Promise<void>;
}

/** Opens a separate database for a test. */
export type OpenStorage = () => Promise<StorageUnderTest>;

/**
 * Returns a database under test.
 *
 * @param open opens the same database on each call
 * @param remove removes the database after it is closed
 */
export async function openForTest(
  open: () => Promise<Omit<StorageUnderTest, 'reopen' | 'close'>>,
  remove: () => Promise<void>,
): Promise<StorageUnderTest> {
  const { storage, lease, keys } = await open();
  return {
    storage,
    lease,
    keys,
    async reopen() {
      await storage.close();
      return openForTest(open, remove);
    },
    async close() {
      await storage.close();
      await remove();
    },
  };
}

/** Maximum of the working tier. Beyond three quarters of it, the oldest working memories are promoted. */
export const WORKING_MAX = 40;

export const NOW = Date.UTC(2026, 0, 1);
/** A time after all memories of `nextMemory`. */
export const LATER = NOW + 1e6;
export const MODEL = 'test-model';
export const ALL: PageRequest<never> = { limit: 1000, maxBytes: 1_000_000 };
export const BATCH = { limit: 10, maxChars: 10_000, maxReembeddingChars: 10_000 };

export const RED_HERON: SearchRequest = {
  namespace: 'default',
  text: 'red heron',
  filter: {},
  now: NOW + 1e6,
  poolSize: 20,
  tailSize: 0,
};

/** Selects for promotion the working memories stored until a time; none is ahead of the clock. */
export const oldEnough = (promotedUntil: number) => ({ promotedUntil, now: NOW * 2 });

let arrivals = 0;

export function nextMemory(fields: Partial<NewMemory> = {}): NewMemory {
  arrivals++;
  const at = NOW + arrivals;
  return newMemory({
    id: `memory-${arrivals}`,
    content: `content ${arrivals}`,
    createdAt: at,
    storedAt: at,
    ...fields,
  });
}

export function nextRunId(): string {
  return `run-${++arrivals}`;
}

/** Returns a unit vector near one axis. */
export function vector(axis: number): Float32Array {
  const values = Float32Array.from({ length: 64 }, (_, i) => (i === axis ? 1 : ((i * 7 + axis) % 5) / 100 - 0.02));
  const length = Math.hypot(...values);
  return values.map((value) => value / length);
}

/**
 * Gives each test of a suite an empty database. After each test that used it, checks that the recall data match the
 * memories. Tests share one database, which is emptied between them, since opening one takes longer than most tests.
 */
export function testedStorage(open: OpenStorage): TestedStorage {
  const tested = new TestedStorage(open);
  beforeEach(() => tested.open());
  afterEach(() => tested.check());
  afterAll(() => tested.close());
  return tested;
}

/** The database of the running test, with operations that tests use often. */
export class TestedStorage {
  readonly #openNew: OpenStorage;
  readonly #leases = new Map<string, { name: string; holder: string }>();
  #opened: StorageUnderTest | undefined;
  /** Whether a test has used the database since it was emptied. */
  #isUsed = false;

  constructor(openNew: OpenStorage) {
    this.#openNew = openNew;
  }

  async open(): Promise<void> {
    this.#opened ??= await this.#openNew();
  }

  /** Fails if the recall data do not match the memories. Otherwise empties the database. */
  async check(): Promise<void> {
    if (!this.#opened || !this.#isUsed) return;
    let problems: string[] | undefined;
    try {
      problems = await this.storage.integrity();
      if (problems.length === 0) await this.#empty();
    } finally {
      if (problems?.length !== 0) await this.close();
    }
    expect(problems).toEqual([]);
  }

  async #empty(): Promise<void> {
    for (const { name, holder } of this.#leases.values()) await this.#open.lease.release(name, holder);
    this.#leases.clear();
    const [usage, stored] = await Promise.all([this.storage.usage(NOW), this.keys.read()]);
    // `usage` does not list a namespace that has only revoked keys.
    const names = [...usage.map(({ name }) => name), ...(stored?.keys ?? []).map(({ namespace }) => namespace)];
    for (const name of new Set(names)) await this.storage.deleteNamespace(name);
    this.#isUsed = false;
  }

  /** Opens a new database that no other test has used. */
  async openNew(): Promise<void> {
    await this.close();
    await this.open();
  }

  get storage(): Storage {
    return this.#open.storage;
  }

  get lease(): Lease {
    const { lease } = this.#open;
    return {
      acquire: (name, holder, now, ttlMs) => {
        this.#leases.set(`${name} ${holder}`, { name, holder });
        return lease.acquire(name, holder, now, ttlMs);
      },
      release: (name, holder) => lease.release(name, holder),
    };
  }

  get keys(): KeyStore {
    return this.#open.keys;
  }

  async reopen(): Promise<void> {
    this.#opened = await this.#open.reopen();
  }

  async close(): Promise<void> {
    this.#leases.clear();
    this.#isUsed = false;
    const opened = this.#opened;
    this.#opened = undefined;
    await opened?.close();
  }

  get #open(): StorageUnderTest {
    if (!this.#opened) throw new Error('the database is available only while a test runs');
    this.#isUsed = true;
    return this.#opened;
  }

  readonly storeMemory = async (fields: Partial<NewMemory> = {}): Promise<NewMemory & { ordinal: number }> => {
    const memory = nextMemory(fields);
    const stored = await this.storage.store(memory);
    if (stored.outcome !== 'stored') throw new Error(`not stored: ${stored.outcome}`);
    return { ...memory, ordinal: stored.ordinal };
  };

  readonly findOrdinals = async (text: string, filter: MemoryFilter = {}, now = LATER): Promise<number[]> => {
    return this.getAdmitted(await this.search(text, filter, now));
  };

  readonly search = (text: string, filter: MemoryFilter = {}, now = LATER, values?: Float32Array): Promise<Signals> => {
    return this.storage.search({
      namespace: 'default',
      text,
      vector: values && { modelId: MODEL, values },
      filter,
      now,
      poolSize: 20,
      tailSize: 0,
    });
  };

  readonly getAdmitted = (signals: Signals): number[] => {
    return Array.from(signals.ordinals.slice(0, signals.candidateCount)).sort((a, b) => a - b);
  };

  /** Returns the ordinals of memories whose speaker a word of the query names. */
  readonly getSpeaking = ({ ordinals, speaks, documentFrequencies }: Signals): number[] => {
    const words = documentFrequencies.length;
    return Array.from(ordinals).filter((_, row) => speaks.subarray(row * words, (row + 1) * words).includes(1));
  };

  readonly putVector = async (memory: { ordinal: number }, ...axes: number[]): Promise<number[]> => {
    return this.storage.putVectors(MODEL, [{ ordinal: memory.ordinal, revision: 1, vectors: axes.map(vector) }]);
  };

  readonly countTiers = async (now = LATER): Promise<number[]> => {
    const { working_count, episodic_count, semantic_count } = await this.storage.stats('default', now);
    return [working_count, episodic_count, semantic_count];
  };

  readonly beginRun = async (
    fields: { id?: string; at?: number; holder?: string; namespace?: string } = {},
  ): Promise<RunRef> => {
    const { at = NOW, holder = 'this process', namespace = 'default' } = fields;
    const fence = await this.lease.acquire(CONSOLIDATION_LEASE, holder, at, 1000);
    if (fence === null) throw new Error('another process has the lease');
    const id = fields.id ?? nextRunId();
    return (await this.storage.beginRun(namespace, { id, startedAt: at, promotedUntil: at, fence })).ref;
  };

  /** Runs one step in a separate consolidation run. */
  readonly #step = async (work: (run: RunRef) => Promise<StepResult>): Promise<StepResult> => {
    const run = await this.beginRun();
    const result = await work(run);
    await this.storage.endRun(run, NOW);
    return result;
  };

  readonly promote = (until: number, limit: number) =>
    this.#step((run) => this.storage.promote(run, oldEnough(until), limit));
  readonly mergeDuplicates = (limit: number) => this.#step((run) => this.storage.mergeDuplicates(run, NOW, limit));
  readonly evictExpired = (now: number, limit: number) =>
    this.#step((run) => this.storage.evictExpired(run, now, limit));
}
