import { openNewSqlite } from '@memoryd/sqlite/testing';
import { newMemory, testedStorage } from '@memoryd/suites';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryMaps } from '../src/map/memory-maps.ts';
import type { NewMemory } from '../src/ports/storage-memories.ts';

const MODEL = 'test-model';
/** Longer than the age at which a map is computed again. */
const LONG_MS = 60_000;

const tested = testedStorage(openNewSqlite(10_000));
let now = Date.UTC(2026, 0, 1);
let maps: MemoryMaps;
beforeEach(() => {
  maps = new MemoryMaps({ storage: tested.storage, clock: { now: () => now }, telemetry: { report: () => {} } });
});
afterEach(() => maps.close());

/** Stores memories in order. Returns their ordinals. */
async function storeMany(count: number): Promise<number[]> {
  const memories: NewMemory[] = Array.from({ length: count }, (_, i) =>
    newMemory({ id: `m${i}`, content: `note ${i}`, createdAt: now + i, storedAt: now + i }),
  );
  const outcomes = await tested.storage.storeMany(memories);
  now += LONG_MS;
  return outcomes.map((stored) => (stored.outcome === 'stored' ? stored.ordinal : expect.unreachable()));
}

/** Stores one vector per memory, or none as for a text that the model rejects. */
async function embed(ordinals: readonly number[], isRejected = false): Promise<void> {
  await tested.storage.useModel(MODEL);
  const getVector = (ordinal: number) => Float32Array.from({ length: 8 }, (_, i) => Math.sin(ordinal * (i + 1)));
  await tested.storage.putVectors(
    MODEL,
    ordinals.map((ordinal) => ({ ordinal, revision: 1, vectors: isRejected ? [] : [getVector(ordinal)] })),
  );
}

/** Returns the ordinals on the map, once none is being computed. */
async function getMapped(): Promise<number[]> {
  await expect.poll(async () => (await maps.get('default', {})).isChanging).toBe(false);
  const { map } = await maps.get('default', {});
  return [...(map?.ordinals ?? [])].sort((a, b) => a - b);
}

/** Returns whether a map that is asked for after its minimum age is computed again. */
async function isOutdated(): Promise<boolean> {
  now += LONG_MS;
  return (await maps.get('default', {})).isChanging;
}

describe('MemoryMaps', () => {
  it('returns the same map again if the model has rejected a text', async () => {
    const ordinals = await storeMany(4);
    await embed(ordinals.slice(0, 3));
    await embed(ordinals.slice(3), true);
    expect(await getMapped()).toEqual(ordinals.slice(0, 3));
    expect(await isOutdated()).toBe(false);
  });

  it('computes a map again once one of the missing memories has a vector, and not before', async () => {
    const ordinals = await storeMany(4);
    await embed(ordinals.slice(0, 2));
    expect(await getMapped()).toEqual(ordinals.slice(0, 2));
    expect(await isOutdated()).toBe(false);
    await embed(ordinals.slice(2, 3));
    expect(await isOutdated()).toBe(true);
    expect(await getMapped()).toEqual(ordinals.slice(0, 3));
    expect(await isOutdated()).toBe(false);
  });

  it('computes a map again once the oldest of thousands of missing memories has a vector', async () => {
    const ordinals = await storeMany(2100);
    await embed(ordinals.slice(-2));
    expect(await getMapped()).toEqual(ordinals.slice(-2));
    expect(await isOutdated()).toBe(false);
    await embed(ordinals.slice(0, 1));
    expect(await isOutdated()).toBe(true);
    expect(await getMapped()).toEqual([...ordinals.slice(0, 1), ...ordinals.slice(-2)]);
  });

  it('computes a map again after a change of its memories', async () => {
    const ordinals = await storeMany(3);
    await embed(ordinals);
    expect(await getMapped()).toEqual(ordinals);
    await tested.storage.forget('default', 'm1');
    expect(await isOutdated()).toBe(true);
    expect(await getMapped()).toEqual([ordinals[0], ordinals[2]]);
  });
});
