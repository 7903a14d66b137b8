import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MemoryApi } from '@memoryd/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from './engine.ts';
import { ENGINE_DEFAULTS } from './engine-defaults.ts';
import { openEngine } from './open-engine.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const YEAR_MS = 365 * DAY_MS;

let folder: string;
let engine: Engine;
let api: MemoryApi;
let now: number;
/** Milliseconds that pass on each read of the clock. */
let tickMs: number;
let tests = 0;

// Each test has its own namespace, and begins later than any time that an earlier test has set.
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'memoryd-clock-'));
  engine = await openEngine({
    ...ENGINE_DEFAULTS,
    dbPath: join(folder, 'memory.db'),
    embedder: 'none',
    consolidationIntervalSeconds: 0,
    workingAgeSeconds: 0,
    maxAnswerBytes: 1_000_000,
    telemetry: { report: () => {} },
    clock: { now: () => (now += tickMs) },
  });
});
beforeEach(() => {
  tickMs = 0;
  now = Date.UTC(2026, 0, 1) + 10 * tests * YEAR_MS;
  api = engine.namespace(`test-${++tests}`);
});
afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});

const iso = (time: number) => new Date(time).toISOString();
const getIds = async () => (await api.session({ session_id: 's' })).memories.map(({ id }) => id);

describe('the engine after its clock was set forward or back', () => {
  it('keeps the order of arrival in a session', async () => {
    const ids: string[] = [];
    for (const jump of [0, 2 * HOUR_MS, -3 * HOUR_MS, HOUR_MS, -HOUR_MS, 5 * HOUR_MS]) {
      now += jump;
      ids.push((await api.store({ content: `after ${jump}`, session_id: 's' })).id);
    }
    const batch = await api.storeBatch([0, 1].map((i) => ({ content: `batch ${i}`, session_id: 's' })));
    ids.push(...batch.results.map((result) => ('id' in result ? result.id : '')));
    expect(await getIds()).toEqual(ids);
  });

  it('gives all memories of a batch the same creation time, even if the clock advances while they are stored', async () => {
    tickMs = 10;
    await api.storeBatch(Array.from({ length: 300 }, (_, i) => ({ content: `turn ${i}`, session_id: 's' })));
    const { memories } = await api.session({ session_id: 's', limit: 300 });
    expect(memories.map(({ content }) => content)).toEqual(memories.map((_, i) => `turn ${i}`));
    expect(new Set(memories.map((memory) => memory.created_at)).size).toBe(1);
  });

  it('keeps creation times that clients have set', async () => {
    const later = await api.store({ content: 'later', session_id: 's', created_at: iso(now + HOUR_MS) });
    now -= HOUR_MS;
    const earlier = await api.store({ content: 'earlier', session_id: 's', created_at: iso(now - HOUR_MS) });
    expect(await getIds()).toEqual([earlier.id, later.id]);
  });

  it('hides memories that expire while the clock is ahead, and shows them again once the clock is right', async () => {
    const { id } = await api.store({ content: 'expires in a month', expires_at: iso(now + 30 * DAY_MS) });
    now += YEAR_MS;
    await expect(api.memory(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    now -= YEAR_MS;
    expect((await api.memory(id)).id).toBe(id);
    expect((await api.recall({ query: 'month' })).total).toBe(1);
  });

  it('the engine after its clock was set forward or back can undo the eviction of memories that expired only while the clock was ahead', async () => {
    const { id } = await api.store({ content: 'expires in a month', expires_at: iso(now + 30 * DAY_MS) });
    await api.consolidate();
    now += YEAR_MS;
    const run = await api.consolidate();
    expect(run.evicted_count).toBe(1);
    now -= YEAR_MS;
    await api.undo(run.id ?? '');
    expect((await api.memory(id)).tier).toBe('episodic');
  });

  it('promotes all stored memories at the next consolidation', async () => {
    for (const jump of [YEAR_MS, -2 * YEAR_MS, YEAR_MS]) {
      now += jump;
      await api.store({ content: `stored after ${jump}` });
    }
    expect((await api.consolidate()).consolidated_count).toBe(3);
    expect(await api.stats()).toMatchObject({ working_count: 0, last_sleep_at: iso(now) });
  });

  it('stores one memory per idempotency key if the clock was set back or is less than a day ahead', async () => {
    const store = () => api.store({ content: 'once' }, { idempotencyKey: 'a key' });
    const { id } = await store();
    for (const jump of [-YEAR_MS, YEAR_MS + 23 * HOUR_MS]) {
      now += jump;
      await api.consolidate();
      expect((await store()).id).toBe(id);
    }
  });

  it('the engine after its clock was set forward or back does not delete idempotency keys that were expired only while the clock was ahead', async () => {
    await api.consolidate();
    const store = () => api.store({ content: 'once' }, { idempotencyKey: 'a key' });
    const { id } = await store();
    now += YEAR_MS;
    await api.consolidate();
    now -= YEAR_MS;
    expect((await store()).id).toBe(id);
  });

  it('keeps the order of the texts of a memory', async () => {
    const { id } = await api.store({ content: 'first' });
    now -= HOUR_MS;
    await api.update(id, { content: 'second' });
    now += DAY_MS;
    await api.update(id, { content: 'third' });
    const { texts } = await api.history(id);
    expect(texts.map(({ content }) => content)).toEqual(['first', 'second', 'third']);
  });

  it('never ends a text before its start, and never dates an update before the memory was stored', async () => {
    const { id } = await api.store({ content: 'first' });
    const stored = iso(now);
    now -= HOUR_MS;
    await api.update(id, { content: 'second' });
    const { texts } = await api.history(id);
    expect(texts.map(({ held_from, held_until }) => [held_from, held_until])).toEqual([
      [stored, stored],
      [stored, null],
    ]);
    expect(await api.memory(id)).toMatchObject({ created_at: stored, updated_at: stored });
  });
});
