import { describe, expect, it } from 'vitest';
import { getRequestDigest } from './request-digest.ts';

describe('getRequestDigest', () => {
  it('getRequestDigest does not depend on the order of fields at any depth', () => {
    const one = getRequestDigest({ content: 'a', metadata: { x: 1, y: { p: [1, 2], q: null } } });
    const other = getRequestDigest({ metadata: { y: { q: null, p: [1, 2] }, x: 1 }, content: 'a' });
    expect(one).toBe(other);
    expect(one).toMatch(/^[0-9a-f]{64}$/);
  });

  it('getRequestDigest depends on values, types and the order of lists', () => {
    const requests = [{ tags: ['a', 'b'] }, { tags: ['b', 'a'] }, { tags: 'a,b' }, { tags: ['a', 'b', 1] }, {}];
    const digests = requests.map(getRequestDigest);
    expect(new Set(digests).size).toBe(requests.length);
  });
});
