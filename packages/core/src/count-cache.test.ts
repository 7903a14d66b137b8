import { expect, it } from 'vitest';
import { CountCache } from './count-cache.ts';

/** Returns a cache, and a computation of its number of calls, which waits for `release`. `wait` moves the clock. */
function createCounter() {
  let now = 1;
  const cache = new CountCache({ now: () => now });
  const waiting: (() => void)[] = [];
  let calls = 0;
  const get = (namespace = 'a', request: unknown = {}) =>
    cache.get(namespace, request, async () => {
      const call = ++calls;
      await new Promise<void>((resolve) => waiting.push(resolve));
      return call;
    });
  const release = () => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  const wait = (ms: number) => {
    now += ms;
  };
  return { cache, get, release, wait };
}

it('requests for the same counts share one computation', async () => {
  const { get, release } = createCounter();
  const counts = [get(), get(), get('a', { limit: 2 }), get('b')];
  release();
  expect(await Promise.all(counts)).toEqual([1, 1, 2, 3]);
  expect(await get()).toBe(1);
});

it('counts that began before a memory was forgotten are not kept, and those of other namespaces are', async () => {
  const { cache, get, release } = createCounter();
  const [before, other] = [get(), get('ab')];
  cache.drop('a');
  release();
  expect(await Promise.all([before, other])).toEqual([1, 2]);
  const after = get();
  release();
  expect([await after, await get('ab')]).toEqual([3, 2]);
});

it('requests share a computation that takes longer than its result is kept', async () => {
  const { get, release, wait } = createCounter();
  const first = get();
  wait(25_000);
  const second = get();
  release();
  expect(await Promise.all([first, second])).toEqual([1, 1]);
});

it('keeps a result for ten seconds after its computation, however long it took', async () => {
  const { get, release, wait } = createCounter();
  const first = get();
  wait(25_000);
  release();
  await first;
  wait(9999);
  expect(await get()).toBe(1);
  wait(1001);
  const later = get();
  release();
  expect(await later).toBe(2);
});

it('drops the oldest results at the limit of their characters', async () => {
  const cache = new CountCache();
  let calls = 0;
  const get = (request: number, chars = 2 ** 20) =>
    cache.get('a', request, async () => `${++calls} ${'x'.repeat(chars)}`);
  for (let i = 0; i < 5; i++) await get(i);
  expect(calls).toBe(5);
  await Promise.all([3, 4].map((i) => get(i)));
  expect(calls).toBe(5);
  await get(0);
  expect(calls).toBe(6);
});

it('keeps no result that is larger than all results may be', async () => {
  const cache = new CountCache();
  let calls = 0;
  const get = () => cache.get('a', {}, async () => `${++calls} ${'x'.repeat(5 * 2 ** 20)}`);
  expect([(await get())[0], (await get())[0]]).toEqual(['1', '2']);
});

it('keeps no failures', async () => {
  const cache = new CountCache();
  await expect(cache.get('a', {}, () => Promise.reject(new Error('closed')))).rejects.toThrow('closed');
  expect(await cache.get('a', {}, async () => 1)).toBe(1);
});
