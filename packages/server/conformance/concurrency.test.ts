import type { StoreBatchResponse, StoreResponse } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import type { Answer } from './http.ts';
import { expectError } from './refusal.ts';
import { useServer, WORDS_ONLY } from './under-test.ts';

const memoryd = useServer({ env: WORDS_ONLY });
const getTotal = async () => (await memoryd.memories('limit=1')).total;

/** Runs a task `times` times concurrently. */
function runConcurrently<T>(times: number, task: (n: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: times }, (_, n) => task(n)));
}

const getStatuses = (answers: Answer[]) => answers.map(({ status }) => status).sort();

/** Returns the sorted statuses of `times` responses of which one is 200 and the rest `other`. */
const getOneSuccess = (times: number, other: number) => [200, ...new Array<number>(times - 1).fill(other)];

describe('100 concurrent requests with one Idempotency-Key', () => {
  it('store one memory and return its id', async () => {
    const before = await getTotal();
    const answers = await runConcurrently(100, () =>
      memoryd.send<StoreResponse>({
        method: 'POST',
        path: '/store',
        headers: { 'idempotency-key': 'hundredfold' },
        json: { content: 'stored once' },
      }),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(await getTotal()).toBe(before + 1);
  });

  it('store each memory of a batch once', async () => {
    const before = await getTotal();
    const json = Array.from({ length: 20 }, (_, n) => ({ content: `stored once of many ${n}` }));
    const answers = await runConcurrently(100, () =>
      memoryd.ok<StoreBatchResponse>({
        method: 'POST',
        path: '/store/batch',
        headers: { 'idempotency-key': 'hundredfold' },
        json,
      }),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]?.stored_count).toBe(20);
    expect(await getTotal()).toBe(before + 20);
  });

  it('100 concurrent requests with one Idempotency-Key and 100 different bodies store one memory, and all other requests fail with a conflict', async () => {
    const before = await getTotal();
    const answers = await runConcurrently(100, (n) =>
      memoryd.send<StoreResponse>({
        method: 'POST',
        path: '/store',
        headers: { 'idempotency-key': 'contested' },
        json: { content: `contested ${n}` },
      }),
    );
    expect(getStatuses(answers)).toEqual(getOneSuccess(100, 409));
    for (const answer of answers) if (answer.status !== 200) expectError(answer, { code: 'CONFLICT' });
    const winner = answers.findIndex(({ status }) => status === 200);
    expect((await memoryd.memory(answers[winner]?.body.id ?? '')).content).toBe(`contested ${winner}`);
    expect(await getTotal()).toBe(before + 1);
  });
});

describe('concurrent writes to one memory', () => {
  it.each([2, 50])(
    'concurrent writes to one memory with the same If-Match: exactly one of %i updates succeeds, and its text is stored',
    async (times) => {
      const id = await memoryd.store({ content: 'seen by many' });
      const etag = await memoryd.etag(id);
      const answers = await runConcurrently(times, (n) =>
        memoryd.update(id, { content: `written by ${n}` }, { 'if-match': etag }),
      );
      expect(getStatuses(answers)).toEqual(getOneSuccess(times, 412));
      for (const answer of answers) if (answer.status !== 200) expectError(answer, { code: 'PRECONDITION_FAILED' });
      const winner = answers.findIndex(({ status }) => status === 200);
      expect(await memoryd.memory(id)).toMatchObject({ content: `written by ${winner}`, version: 2 });
      expect(await memoryd.etag(id)).not.toBe(etag);
    },
  );

  it('concurrent writes to one memory with the same If-Match: either the update or the forget succeeds', async () => {
    const outcomes = await runConcurrently(30, async (n) => {
      const id = await memoryd.store({ content: `to be or not ${n}` });
      const headers = { 'if-match': await memoryd.etag(id) };
      const forget = () => memoryd.send({ method: 'DELETE', path: `/forget/${id}`, headers });
      const update = () => memoryd.update(id, { content: `still here ${n}` }, headers);
      // Both orders are tried.
      const [forgotten, updated] =
        n % 2 === 0
          ? await Promise.all([forget(), update()])
          : await Promise.all([update(), forget()]).then(([first, second]) => [second, first] as const);
      if (updated.status === 200) {
        expectError(forgotten, { code: 'PRECONDITION_FAILED' });
        expect((await memoryd.memory(id)).content).toBe(`still here ${n}`);
      } else {
        expect(forgotten.status).toBe(200);
        expectError(updated, { code: 'NOT_FOUND' });
        expect(await memoryd.getStatus(id)).toBe(404);
      }
      return updated.status;
    });
    expect(outcomes).toHaveLength(30);
  });

  it('concurrent writes to one memory with the same If-Match: exactly one of 20 forgets succeeds', async () => {
    const id = await memoryd.store({ content: 'forgotten once' });
    const headers = { 'if-match': await memoryd.etag(id) };
    const answers = await runConcurrently(20, () => memoryd.send({ method: 'DELETE', path: `/forget/${id}`, headers }));
    expect(getStatuses(answers)).toEqual(getOneSuccess(20, 404));
  });

  it('concurrent writes to one memory without If-Match: all 50 updates succeed, one after the other', async () => {
    const id = await memoryd.store({ content: 'counted' });
    const answers = await runConcurrently(50, (n) => memoryd.update(id, { content: `count ${n}` }));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const { version, content } = await memoryd.memory(id);
    expect(version).toBe(51);
    const { texts } = await memoryd.get<{ texts: { content: string }[] }>(`/memories/${id}/history`);
    expect(new Set(texts.map((text) => text.content)).size).toBe(51);
    expect(texts.at(-1)?.content).toBe(content);
  });
});
