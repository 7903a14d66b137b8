import { describe, expect, it } from 'vitest';
import { requestDigest } from './store-memories.ts';

describe('requestDigest', () => {
  it('requestDigest does not depend on the order of fields at any depth', async () => {
    const one = await requestDigest({ content: 'a', metadata: { x: 1, y: { p: [1, 2], q: null } } });
    const other = await requestDigest({ metadata: { y: { q: null, p: [1, 2] }, x: 1 }, content: 'a' });
    expect(one).toBe(other);
    expect(one).toMatch(/^[0-9a-f]{64}$/);
  });

  it('depends on values, types and the order of lists', async () => {
    const requests = [{ tags: ['a', 'b'] }, { tags: ['b', 'a'] }, { tags: 'a,b' }, { tags: ['a', 'b', 1] }, {}];
    const digests = await Promise.all(requests.map(requestDigest));
    expect(new Set(digests).size).toBe(requests.length);
  });
});
