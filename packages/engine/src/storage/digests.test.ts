import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { labelDigest, termDigest } from './digests.ts';

describe('termDigest', () => {
  it('is stable, and differs between namespaces', () => {
    const terms = ['tea', 'x'.repeat(64), 'x'.repeat(65), '茶'];
    const once = terms.map((term) => termDigest('a', term));
    expect(terms.map((term) => termDigest('a', term))).toEqual(once);
    expect(new Set([...once, ...terms.map((term) => termDigest('b', term))]).size).toBe(2 * terms.length);
  });

  it('retains neither the text that a term was sliced from nor terms longer than the cache limit', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc');
    const retainedBytes = (use: (i: number) => void) => {
      collect();
      const before = process.memoryUsage().heapUsed;
      for (let i = 0; i < 100; i++) use(i);
      collect();
      return process.memoryUsage().heapUsed - before;
    };
    const text = (i: number) => `${i} is a commit of forty digits ${' '.repeat(1_000_000)}`;
    expect(retainedBytes((i) => void termDigest('a', text(i).slice(0, 30)))).toBeLessThan(20_000_000);
    expect(retainedBytes((i) => void labelDigest('a', 'metadata', text(i)))).toBeLessThan(20_000_000);
  });
});
