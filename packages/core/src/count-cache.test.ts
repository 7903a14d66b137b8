import { expect, it } from 'vitest';
import { CountCache } from './count-cache.ts';

/** Returns a cache, and a computation of its number of calls, which waits for `release`. */
function createCounter() {
  const cache = new CountCache();
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
  return { cache, get, release };
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

it('keeps no failures', async () => {
  const cache = new CountCache();
  await expect(cache.get('a', {}, () => Promise.reject(new Error('closed')))).rejects.toThrow('closed');
  expect(await cache.get('a', {}, async () => 1)).toBe(1);
});
