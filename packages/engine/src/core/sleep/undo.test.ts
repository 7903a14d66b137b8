import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { extractive } from '../../distilling/extractive/extractive.ts';
import { uuidV7 } from '../../ids/uuid-v7.ts';
import { type Lease, SLEEP_LEASE } from '../../ports/lease.ts';
import type { NewMemory, Storage, StoredMemory } from '../../ports/storage.ts';
import { openSqlite } from '../../storage/sqlite/open.ts';
import { EventLog } from '../event-log.ts';
import { recalledBy } from './self-check.ts';
import { Sleeper } from './sleeper.ts';

const NOW = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
const ALL = { limit: 1000, maxBytes: 1e7 };

type Kept = Pick<NewMemory, 'content' | 'tags' | 'importance' | 'sessionId' | 'createdAt' | 'expiresAt'>;

/** Few texts, sessions and times, so that many memories are twins and some of them expire. */
const kept: fc.Arbitrary<Kept> = fc.record({
  content: fc.constantFrom('a note', ' a note', 'café', 'cafe\u0301 ', 'another note'),
  tags: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 3 }),
  importance: fc.constantFrom(0, 0.25, 0.5, 1),
  sessionId: fc.constantFrom('one', 'other'),
  createdAt: fc.integer({ min: NOW - 5, max: NOW }),
  expiresAt: fc.constantFrom(null, null, null, NOW - 1, NOW + DAY_MS),
});

type Act =
  | { act: 'store'; memory: Kept }
  | { act: 'sleep' }
  | { act: 'forget'; place: number }
  | { act: 'use'; place: number }
  | { act: 'update'; place: number; change: Partial<Pick<Kept, 'content' | 'tags' | 'importance'>> };

const place = fc.nat({ max: 11 });
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ act: fc.constant('store' as const), memory: kept }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('sleep' as const) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('forget' as const), place }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('use' as const), place }) },
  {
    weight: 1,
    arbitrary: fc.record({
      act: fc.constant('update' as const),
      place,
      change: fc.record(
        {
          content: fc.constantFrom('a note', 'individual'),
          tags: fc.uniqueArray(fc.constantFrom('d', 'e')),
          importance: fc.constantFrom(0.1, 0.9),
        },
        { requiredKeys: [] },
      ),
    }),
  },
);

async function inDatabase(test: (storage: Storage, lease: Lease) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'memoryd-'));
  const { storage, lease } = await openSqlite({ path: join(folder, 'memory.db'), workingMax: 10_000 });
  try {
    await test(storage, lease);
    expect(await storage.integrity()).toEqual([]);
  } finally {
    await storage.close();
    await rm(folder, { recursive: true });
  }
}

/** What a client can see of every memory, live or merged, with what recall finds. */
async function everything(storage: Storage, ids: readonly string[]) {
  const found: (StoredMemory | undefined)[] = await Promise.all(ids.map((id) => storage.memory('default', id, NOW)));
  const live = (await storage.memories('default', {}, ALL, NOW)).items.map(({ id }) => id);
  const { ordinals, admitted } = await storage.search({
    ...{ namespace: 'default', text: 'note cafe individual', filter: {}, now: NOW, poolSize: 100, tailSize: 0 },
  });
  const counts = await storage.stats('default', NOW);
  return {
    memories: found,
    live,
    recalled: Array.from(ordinals.slice(0, admitted)).sort((a, b) => a - b),
    counts: [counts.working_count, counts.episodic_count],
  };
}

it('undoes runs, one of them cut off and resumed, to exactly what was there before each', {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(act, { maxLength: 24 }),
      fc.array(kept, { maxLength: 8 }),
      fc.nat({ max: 6 }),
      (acts, more, batches) =>
        inDatabase(async (storage, lease) => {
          const telemetry = { report() {} };
          const clock = { now: () => NOW };
          const parts = {
            storage,
            lease,
            clock,
            ids: uuidV7,
            telemetry,
            distiller: extractive,
            holder: 'one',
            archiveMs: DAY_MS,
          };
          const maxima = { episodic: 6, semantic: 0 };
          const sleeper = new Sleeper({
            ...parts,
            maxima,
            events: new EventLog(clock, uuidV7),
            recalled: recalledBy({ storage, clock }),
          });
          const ids: string[] = [];
          for (const one of acts) await perform(storage, sleeper, ids, one);
          const seen = [await everything(storage, ids)];
          const runs = [await sleeper.sleep('default', 0)];
          const before = ids.length;
          for (const memory of more) await perform(storage, sleeper, ids, { act: 'store', memory });
          seen.push(await everything(storage, ids));
          await beginAndLeave(storage, lease, batches);
          runs.push(await sleeper.sleep('default', 0));
          expect(await sleeper.undo('default', runs[1]?.id ?? '')).toMatchObject({ outcome: 'begun' });
          expect(await everything(storage, ids)).toEqual(seen[1]);
          for (const id of ids.splice(before)) await storage.forget('default', id);
          expect(await sleeper.undo('default', runs[0]?.id ?? '')).toMatchObject({ outcome: 'begun' });
          expect(await everything(storage, ids)).toEqual(seen[0]);
        }),
    ),
    { numRuns: 40 },
  );
});

/** Begins a run as another process, which ends after so many small batches. */
async function beginAndLeave(storage: Storage, lease: Lease, batches: number): Promise<void> {
  if (batches === 0) return;
  const fence = (await lease.acquire(SLEEP_LEASE, 'killed', NOW, 1000)) ?? 0;
  const { ref } = await storage.beginRun('default', { id: 'left', startedAt: NOW, settledUntil: NOW, fence });
  const works = [
    () => storage.settle(ref, { settledUntil: NOW, now: NOW }, 2),
    () => storage.evictExpired(ref, NOW, 1),
    () => storage.mergeTwins(ref, 1),
  ];
  for (let batch = 0; batch < batches; batch++) await works[batch % works.length]?.();
  await lease.release(SLEEP_LEASE, 'killed');
}

async function perform(storage: Storage, sleeper: Sleeper, ids: string[], one: Act): Promise<void> {
  if (one.act === 'sleep') await sleeper.sleep('default', 0);
  else if (one.act === 'store') {
    const id = `memory-${ids.length}`;
    const fixed = { namespace: 'default', id, source: 'api', metadata: {}, storedAt: NOW, supersedes: null };
    await storage.store({ ...fixed, ...one.memory });
    ids.push(id);
  } else {
    const id = ids[one.place] ?? '';
    const memory = await storage.memory('default', id, NOW);
    if (!memory) return;
    if (one.act === 'forget') await storage.forget('default', id);
    else if (one.act === 'use')
      await storage.recordAccess([{ namespace: 'default', ordinal: memory.ordinal, count: 2, at: NOW + one.place }]);
    else await storage.update({ namespace: 'default', id, at: NOW, ...one.change });
  }
}
