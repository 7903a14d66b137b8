import { describe, expect, it } from 'vitest';
import { assertAllStored, splitIntoBatches } from './batches.ts';

describe('splitIntoBatches', () => {
  const requests = (count: number, chars: number) =>
    Array.from({ length: count }, (_, index) => ({ content: String(index).padEnd(chars, '.') }));

  it('returns every request in the original order', () => {
    const all = requests(1201, 10);
    expect(splitIntoBatches(all).flat()).toEqual(all);
  });

  it('puts at most 500 requests into a batch', () => {
    expect(splitIntoBatches(requests(1201, 10)).map(({ length }) => length)).toEqual([500, 500, 201]);
  });

  it('limits the number of characters in a batch, and puts a longer text into its own batch', () => {
    expect(splitIntoBatches(requests(3, 300_000)).map(({ length }) => length)).toEqual([1, 1, 1]);
    expect(splitIntoBatches(requests(3, 200_000)).map(({ length }) => length)).toEqual([2, 1]);
    expect(splitIntoBatches(requests(2, 600_000)).map(({ length }) => length)).toEqual([1, 1]);
  });
});

it('assertAllStored throws an error with the first reason if the service rejected a memory', () => {
  const stored = { id: '1', status: 'stored' as const };
  const rejected = {
    status: 'error' as const,
    error: { code: 'INVALID_REQUEST' as const, message: 'content must not be blank' },
  };
  const response = { stored_count: 1, duplicate_count: 0, failed_count: 1 };
  expect(() => assertAllStored({ ...response, results: [stored, rejected] })).toThrow(
    /rejected 1 of 2 memories.*content must not be blank/,
  );
  expect(() => assertAllStored({ ...response, failed_count: 0, results: [stored] })).not.toThrow();
});
