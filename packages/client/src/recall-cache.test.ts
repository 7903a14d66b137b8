import { describe, expect, it } from 'vitest';
import { RecallCache } from './recall-cache.ts';

describe('RecallCache', () => {
  it('starts a recall again after a failure, and shares a success', async () => {
    const cache = new RecallCache();
    let count = 0;
    const recall = async () => {
      count++;
      if (count === 1) throw new Error('refused');
      return count;
    };
    const first = [cache.get('a', recall), cache.get('a', recall)];
    for (const each of first) await expect(each).rejects.toThrow('refused');
    expect(await cache.get('a', recall)).toBe(2);
    expect(await cache.get('a', recall)).toBe(2);
  });
});
