import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RecallResponse, StoreRequest } from '@memoryd/contract';
import { propertyRuns } from '@memoryd/search/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine } from './engine.ts';
import { ENGINE_DEFAULTS } from './engine-defaults.ts';
import { openEngine } from './open-engine.ts';

const OURS = [
  'Ada is allergic to peanuts and carries a pen with adrenaline',
  'Ben waters the ferns in the kitchen every Sunday',
  'The spare key hangs behind the fern in the hall',
  'Ada moved from Lisbon to Porto in May',
  'The dentist wants to see Ben again in autumn',
].map((content): StoreRequest => ({ content, session_id: 'home' }));
const THEIRS = Array.from({ length: propertyRuns(1000) }, (_, i) => ({
  ...(OURS[i % OURS.length] as StoreRequest),
})).map(
  (memory, i): StoreRequest => ({
    ...memory,
    content: i < OURS.length ? memory.content : `${memory.content}, room ${i}`,
  }),
);
const QUERIES = ['what must Ada not eat', 'where is the key', 'ferns', 'Porto', 'an appointment of Ben'];

async function recallOurs(others: readonly StoreRequest[]): Promise<RecallResponse[]> {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-scores-'));
  let created = 0;
  const engine: Engine = await openEngine({
    ...ENGINE_DEFAULTS,
    dbPath: join(folder, 'memory.db'),
    consolidationIntervalSeconds: 0,
    workingAgeSeconds: 0,
    maxAnswerBytes: 1_000_000,
    telemetry: { report: () => {} },
    clock: { now: () => Date.UTC(2026, 0, 1) },
    ids: { next: () => `m${++created}` },
  });
  try {
    const theirs = engine.namespace('theirs');
    await theirs.storeBatch([...others]);
    created = 0;
    const ours = engine.namespace('ours');
    for (const memory of OURS) await ours.store(memory);
    for (const api of [theirs, ours]) {
      await expect.poll(async () => (await api.stats()).pending_embeddings, { timeout: 100_000 }).toBe(0);
    }
    return await Promise.all(QUERIES.map((query) => ours.recall({ query, top_k: 100, explain: true })));
  } finally {
    await engine.close();
    rmSync(folder, { recursive: true });
  }
}

it('recall scores do not depend on similar texts in another namespace', {
  timeout: 240_000,
}, async () => {
  const alone = await recallOurs([]);
  expect(alone.every(({ total }) => total === OURS.length)).toBe(true);
  expect(await recallOurs(THEIRS)).toEqual(alone);
});

it('a namespace that is deleted during its scheduled consolidation is not reported as a failure', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-deleted-'));
  const failures: unknown[] = [];
  const engine = await openEngine({
    ...ENGINE_DEFAULTS,
    dbPath: join(folder, 'memory.db'),
    embedder: 'none',
    consolidationIntervalSeconds: 1,
    workingAgeSeconds: 0,
    maxAnswerBytes: 1_000_000,
    telemetry: { report: ({ level, error }) => level === 'error' && failures.push(error) },
  });
  try {
    const brief = engine.namespace('brief');
    for (let round = 0; round < 5; round++) {
      await brief.storeBatch(Array.from({ length: 1000 }, (_, i) => ({ content: `The train ${i} leaves at noon` })));
      const isRunning = async () =>
        (await brief.consolidations({})).consolidations.some(({ status }) => status === 'running');
      await expect.poll(isRunning, { interval: 1 }).toBe(true);
      await engine.namespaces.delete('brief');
    }
  } finally {
    await engine.close();
    rmSync(folder, { recursive: true });
  }
  expect(failures).toEqual([]);
});

describe('the name of a namespace', () => {
  let folder: string;
  let engine: Engine;
  const quota = { memories: 1, bytes: null };
  const refusal = expect.objectContaining({ code: 'INVALID_REQUEST' });

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'memoryd-names-'));
    engine = await openEngine({
      ...ENGINE_DEFAULTS,
      dbPath: join(folder, 'memory.db'),
      embedder: 'none',
      consolidationIntervalSeconds: 0,
      telemetry: { report: () => {} },
    });
  });
  afterAll(async () => {
    await engine.close();
    rmSync(folder, { recursive: true });
  });

  it.each(['a\0b', '\ud800'])('the name of a namespace is rejected if it cannot be stored (%#)', async (name) => {
    expect(() => engine.namespace(name)).toThrow(refusal);
    await expect(engine.namespaces.setQuota(name, quota)).rejects.toEqual(refusal);
    expect(await engine.namespaces.list()).toEqual([]);
  });

  it('the name of a namespace is rejected when a quota is set if it is invalid for API keys and the namespace does not exist', async () => {
    await expect(engine.namespaces.setQuota('two words', quota)).rejects.toEqual(refusal);
    await engine.namespace('two words').store({ content: 'kept' });
    await engine.namespaces.setQuota('two words', quota);
    await engine.namespaces.setQuota('kitchen', quota);
    expect((await engine.namespaces.list()).map(({ name }) => name)).toEqual(['kitchen', 'two words']);
  });
});
