import { expect, it } from 'vitest';
import { ByteCache } from './byte-cache.ts';

const bytes = (length: number) => new Uint8Array(length).fill(length % 256);

it('keeps what came last, up to a maximum of bytes', () => {
  const cache = new ByteCache(4000);
  for (let key = 1; key <= 6; key++) cache.set(key, bytes(1000));
  expect([1, 2, 3, 4, 5, 6].map((key) => cache.get(key)?.length)).toEqual([
    undefined,
    undefined,
    undefined,
    1000,
    1000,
    1000,
  ]);
});

it('keeps one value by a key, the last, and nothing that was taken out', () => {
  const cache = new ByteCache(4000);
  cache.set(1, bytes(1000));
  cache.set(1, bytes(900));
  expect(cache.get(1)).toEqual(bytes(900));
  cache.delete(1);
  cache.delete(2);
  expect(cache.get(1)).toBeUndefined();
  for (const key of [3, 4, 5]) cache.set(key, bytes(1000));
  expect(cache.get(3)).toEqual(bytes(1000));
});

it('keeps nothing that is larger than its maximum', () => {
  const cache = new ByteCache(1000);
  cache.set(1, bytes(1000));
  expect(cache.get(1)).toBeUndefined();
});
