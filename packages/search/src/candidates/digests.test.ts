import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { labelDigest, termDigest } from './digests.ts';

describe('termDigest', () => {
  it('returns the same digest for the same term, and a different digest in another namespace', () => {
    const terms = ['tea', 'x'.repeat(64), 'x'.repeat(65), '茶'];
    const once = terms.map((term) => termDigest('a', term));
    expect(terms.map((term) => termDigest('a', term))).toEqual(once);
    expect(new Set([...once, ...terms.map((term) => termDigest('b', term))]).size).toBe(2 * terms.length);
  });

  it('retains neither terms longer than the cache limit nor the texts from which terms were sliced', () => {
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
