import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RecallResponse, StoreRequest } from '@memoryd/contract';
import { expect, it } from 'vitest';
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
const THEIRS = Array.from({ length: 1000 }, (_, i) => ({ ...(OURS[i % OURS.length] as StoreRequest) })).map(
  (memory, i): StoreRequest => ({
    ...memory,
    content: i < OURS.length ? memory.content : `${memory.content}, room ${i}`,
  }),
);
const QUERIES = ['what must Ada not eat', 'where is the key', 'ferns', 'Porto', 'an appointment of Ben'];

async function recalled(others: readonly StoreRequest[]): Promise<RecallResponse[]> {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-scores-'));
  let made = 0;
  const engine: Engine = await openEngine({
    ...ENGINE_DEFAULTS,
    dbPath: join(folder, 'memory.db'),
    sleepIntervalSeconds: 0,
    workingAgeSeconds: 0,
    maxAnswerBytes: 1_000_000,
    telemetry: { report: () => {} },
    clock: { now: () => Date.UTC(2026, 0, 1) },
    ids: { next: () => `m${++made}` },
  });
  try {
    const theirs = engine.namespace('theirs');
    await theirs.storeBatch([...others]);
    made = 0;
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

it('scores are the same whether another namespace holds nothing or a thousand similar texts', {
  timeout: 240_000,
}, async () => {
  const alone = await recalled([]);
  expect(alone.every(({ total }) => total === OURS.length)).toBe(true);
  expect(await recalled(THEIRS)).toEqual(alone);
});

it.each(['a\0b', '\ud800'])('a name that cannot be kept is no namespace (%#)', async (name) => {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-names-'));
  const engine = await openEngine({
    ...ENGINE_DEFAULTS,
    embedder: 'none',
    dbPath: join(folder, 'memory.db'),
    telemetry: { report: () => {} },
  });
  try {
    const refusal = expect.objectContaining({ code: 'INVALID_REQUEST' });
    expect(() => engine.namespace(name)).toThrow(refusal);
    await expect(engine.namespaces.setQuota(name, { memories: 1, bytes: null })).rejects.toEqual(refusal);
    expect(await engine.namespaces.list()).toEqual([]);
  } finally {
    await engine.close();
    rmSync(folder, { recursive: true });
  }
});

it('gives no quota to a name that no key could be made for, unless there is such a namespace', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-names-'));
  const options = { ...ENGINE_DEFAULTS, sleepIntervalSeconds: 0, maxAnswerBytes: 1_000_000 };
  const engine = await openEngine({ ...options, dbPath: join(folder, 'memory.db'), telemetry: { report: () => {} } });
  const quota = { memories: 1, bytes: null };
  try {
    await expect(engine.namespaces.setQuota('two words', quota)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    await engine.namespace('two words').store({ content: 'kept' });
    await engine.namespaces.setQuota('two words', quota);
    await engine.namespaces.setQuota('kitchen', quota);
    expect((await engine.namespaces.list()).map(({ name }) => name)).toEqual(['kitchen', 'two words']);
  } finally {
    await engine.close();
    rmSync(folder, { recursive: true });
  }
});
