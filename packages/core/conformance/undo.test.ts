import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { propertyRuns } from '@memoryd/search/testing';
import { openSqlite } from '@memoryd/sqlite';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Consolidator } from '../src/consolidation/consolidator.ts';
import { createRecallForCheck } from '../src/consolidation/self-check.ts';
import { extractive } from '../src/distil/extractive.ts';
import { EventLog } from '../src/event-log.ts';
import { CONSOLIDATION_LEASE, type Lease } from '../src/ports/coordination.ts';
import type { Storage } from '../src/ports/storage.ts';
import type { NewMemory, StoredMemory } from '../src/ports/storage-memories.ts';
import { uuidV7 } from '../src/system.ts';

const NOW = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
const ALL = { limit: 1000, maxBytes: 1e7 };

type MemoryFields = Pick<NewMemory, 'content' | 'tags' | 'importance' | 'sessionId' | 'createdAt' | 'expiresAt'>;

/** Few texts, sessions and times, so that many memories are duplicates and some of them expire. */
const memoryFields: fc.Arbitrary<MemoryFields> = fc.record({
  content: fc.constantFrom('a note', ' a note', 'café', 'cafe\u0301 ', 'another note'),
  tags: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 3 }),
  importance: fc.constantFrom(0, 0.25, 0.5, 1),
  sessionId: fc.constantFrom('one', 'other'),
  createdAt: fc.integer({ min: NOW - 5, max: NOW }),
  expiresAt: fc.constantFrom(null, null, null, NOW - 1, NOW + DAY_MS),
});

type Action =
  | { act: 'store'; memory: MemoryFields }
  | { act: 'consolidate' }
  | { act: 'forget'; place: number }
  | { act: 'use'; place: number }
  | { act: 'update'; place: number; change: Partial<Pick<MemoryFields, 'content' | 'tags' | 'importance'>> };

const place = fc.nat({ max: 11 });
const act: fc.Arbitrary<Action> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ act: fc.constant('store' as const), memory: memoryFields }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('consolidate' as const) }) },
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

let folder: string;
let storage: Storage;
let lease: Lease;
let namespaces = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memoryd-'));
  ({ storage, lease } = await openSqlite({ path: join(folder, 'memory.db'), workingMax: 10_000 }));
});
afterAll(async () => {
  await storage.close();
  await rm(folder, { recursive: true });
});

/** Returns all that a client can see of every memory, live or merged, and of recall. */
async function readEverything(namespace: string, ids: readonly string[]) {
  const found: (StoredMemory | undefined)[] = await Promise.all(ids.map((id) => storage.memory(namespace, id, NOW)));
  const live = (await storage.memories(namespace, {}, ALL, NOW)).items.map(({ id }) => id);
  const { ordinals, candidateCount } = await storage.search({
    ...{ namespace, text: 'note cafe individual', filter: {}, now: NOW, poolSize: 100, tailSize: 0 },
  });
  const counts = await storage.stats(namespace, NOW);
  return {
    memories: found,
    live,
    recalled: Array.from(ordinals.slice(0, candidateCount)).sort((a, b) => a - b),
    counts: [counts.working_count, counts.episodic_count],
  };
}

it('an undo restores exactly the state before the run, even if the run was interrupted and resumed', {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(act, { maxLength: 24 }),
      fc.array(memoryFields, { maxLength: 8 }),
      fc.nat({ max: 6 }),
      async (actions, more, batches) => {
        const namespace = `namespace ${++namespaces}`;
        const consolidator = newConsolidator();
        const ids: string[] = [];
        for (const action of actions) await perform(namespace, consolidator, ids, action);
        const seen = [await readEverything(namespace, ids)];
        const runs = [await consolidator.consolidate(namespace, 0)];
        const before = ids.length;
        for (const memory of more) await perform(namespace, consolidator, ids, { act: 'store', memory });
        seen.push(await readEverything(namespace, ids));
        await beginAndAbandon(namespace, batches);
        runs.push(await consolidator.consolidate(namespace, 0));
        expect(await consolidator.undo(namespace, runs[1]?.id ?? '')).toMatchObject({ outcome: 'begun' });
        expect(await readEverything(namespace, ids)).toEqual(seen[1]);
        for (const id of ids.splice(before)) await storage.forget(namespace, id);
        expect(await consolidator.undo(namespace, runs[0]?.id ?? '')).toMatchObject({ outcome: 'begun' });
        expect(await readEverything(namespace, ids)).toEqual(seen[0]);
      },
    ),
    { numRuns: propertyRuns(40) },
  );
  expect(await storage.integrity()).toEqual([]);
});

function newConsolidator(): Consolidator {
  const clock = { now: () => NOW };
  return new Consolidator({
    ...{ storage, lease, clock, ids: uuidV7, telemetry: { report() {} }, distiller: extractive, holder: 'one' },
    ...{ archiveMs: DAY_MS, maxima: { episodic: 6, semantic: 0 }, events: new EventLog(clock, uuidV7) },
    recalled: createRecallForCheck({ storage, clock }),
  });
}

/** Begins a run as another process, which dies after a few small batches. */
async function beginAndAbandon(namespace: string, batches: number): Promise<void> {
  if (batches === 0) return;
  const fence = (await lease.acquire(CONSOLIDATION_LEASE, 'killed', NOW, 1000)) ?? 0;
  const { ref } = await storage.beginRun(namespace, {
    id: `abandoned in ${namespace}`,
    startedAt: NOW,
    promotedUntil: NOW,
    fence,
  });
  const works = [
    () => storage.promote(ref, { promotedUntil: NOW, now: NOW }, 2),
    () => storage.evictExpired(ref, NOW, 1),
    () => storage.mergeDuplicates(ref, NOW, 1),
  ];
  for (let batch = 0; batch < batches; batch++) await works[batch % works.length]?.();
  await lease.release(CONSOLIDATION_LEASE, 'killed');
}

async function perform(namespace: string, consolidator: Consolidator, ids: string[], action: Action): Promise<void> {
  if (action.act === 'consolidate') await consolidator.consolidate(namespace, 0);
  else if (action.act === 'store') {
    const id = `memory-${ids.length}`;
    const fixed = {
      namespace,
      id,
      userId: '',
      agentId: '',
      source: 'api',
      metadata: {},
      externalId: null,
      storedAt: NOW,
      validFrom: null,
      validTo: null,
      supersedes: null,
    };
    await storage.store({ ...fixed, ...action.memory });
    ids.push(id);
  } else {
    const id = ids[action.place] ?? '';
    const memory = await storage.memory(namespace, id, NOW);
    if (!memory) return;
    if (action.act === 'forget') await storage.forget(namespace, id);
    else if (action.act === 'use')
      await storage.recordAccess([{ namespace, ordinal: memory.ordinal, count: 2, at: NOW + action.place }]);
    else await storage.update({ namespace, id, at: NOW, ...action.change });
  }
}
