import type { StoreResponse } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import { expectError } from './refusal.ts';
import { expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';

describe('POST /store with Idempotency-Key', () => {
  const memoryd = useServer({ env: WORDS_ONLY });
  const storeWith = (key: string, json: object) =>
    memoryd.send<StoreResponse>({ method: 'POST', path: '/store', headers: { 'idempotency-key': key }, json });
  const total = async () => (await memoryd.memories('limit=1')).total;

  it('returns the first response again for the same key and body, and stores nothing', async () => {
    const body = { content: 'sent twice', tags: ['a'], metadata: { n: 1 } };
    const first = await storeWith('same', body);
    const before = await total();
    const second = await storeWith('same', body);
    expect([second.status, second.body]).toEqual([200, first.body]);
    expect(await total()).toBe(before);
  });

  it('stores one memory for 20 concurrent requests with the same key', async () => {
    const before = await total();
    const answers = await Promise.all(Array.from({ length: 20 }, () => storeWith('at once', { content: 'a volley' })));
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
    expect(await total()).toBe(before + 1);
  });

  const others: { row: string; body: object }[] = [
    { row: 'content', body: { content: 'another text' } },
    { row: 'tags', body: { content: 'the text', tags: ['new'] } },
    { row: 'importance', body: { content: 'the text', importance: 0.9 } },
    { row: 'session_id', body: { content: 'the text', session_id: 'elsewhere' } },
    { row: 'metadata', body: { content: 'the text', metadata: { k: 'v' } } },
    { row: 'expires_at', body: { content: 'the text', expires_at: '2999-01-01T00:00:00Z' } },
  ];
  it.each(others)('rejects the same key with a different $row', async ({ row, body }) => {
    expect((await storeWith(`conflict ${row}`, { content: 'the text' })).status).toBe(200);
    const before = await total();
    expectError(await storeWith(`conflict ${row}`, body), { code: 'CONFLICT' });
    expect(await total()).toBe(before);
  });

  it('stores two memories for the same body with different keys', async () => {
    const first = await storeWith('one', { content: 'a body' });
    const second = await storeWith('two', { content: 'a body' });
    expect(second.body.id).not.toBe(first.body.id);
  });

  it('distinguishes keys that differ in case', async () => {
    const lower = await storeWith('key', { content: 'lower' });
    const upper = await storeWith('KEY', { content: 'upper' });
    expect([lower.status, upper.status]).toEqual([200, 200]);
  });

  it('accepts the key of a rejected request again', async () => {
    expectError(await storeWith('again', { content: '' }), { field: 'content' });
    expect((await storeWith('again', { content: 'now it is right' })).status).toBe(200);
  });

  it('returns the first response after the memory was updated, and keeps the update', async () => {
    const { id } = (await storeWith('updated', { content: 'first text' })).body;
    expect((await memoryd.update(id, { content: 'second text' })).status).toBe(200);
    expect((await storeWith('updated', { content: 'first text' })).body).toEqual({ id, status: 'stored' });
    expect((await memoryd.memory(id)).content).toBe('second text');
  });

  it('returns the first response after the memory was forgotten, and stores nothing', async () => {
    const { id } = (await storeWith('forgotten', { content: 'to be forgotten' })).body;
    await memoryd.forget(id);
    const before = await total();
    expect((await storeWith('forgotten', { content: 'to be forgotten' })).body).toEqual({ id, status: 'stored' });
    expect(await memoryd.getStatus(id)).toBe(404);
    expect(await total()).toBe(before);
  });

  it('accepts a key of 255 characters', async () => {
    expect((await storeWith('k'.repeat(255), { content: 'a long key' })).status).toBe(200);
  });

  it.each([
    { row: 'an empty key', key: '' },
    { row: 'a key of 256 characters', key: 'k'.repeat(256) },
  ])('POST /store with Idempotency-Key rejects $row', async ({ key }) => {
    const before = await total();
    expectError(await storeWith(key, { content: 'rejected' }));
    expect(await total()).toBe(before);
  });

  it('returns the first response after a restart, and stores nothing', async () => {
    const request = {
      method: 'POST',
      path: '/store',
      headers: { 'idempotency-key': 'over a restart' },
      json: { content: 'once and for all' },
    };
    const first = await startClient({ env: WORDS_ONLY });
    const before = await first.ok<StoreResponse>(request);
    await expectCleanEnd(first.server);
    const second = await startClient({ env: WORDS_ONLY, database: first.server.database });
    expect(await second.ok<StoreResponse>(request)).toEqual(before);
    expect((await second.memories()).total).toBe(1);
    await expectCleanEnd(second.server);
  });
});
