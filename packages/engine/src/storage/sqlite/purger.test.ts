import { describe, expect, it } from 'vitest';
import { Purger } from './purger.ts';

describe('purging', () => {
  it('lets requests that come during a purge share the next, which begins after them', async () => {
    const finish: ((done: boolean) => void)[] = [];
    const purger = new Purger(() => new Promise((resolve) => finish.push(resolve)));
    const first = purger.request();
    const [second, third] = [purger.request(), purger.request()];
    expect(finish).toHaveLength(1);
    finish[0]?.(true);
    expect(await first).toBe(true);
    await new Promise(setImmediate);
    expect(finish).toHaveLength(2);
    finish[1]?.(true);
    expect(await Promise.all([second, third])).toEqual([true, true]);
  });

  it('says when a reader is in the way, and goes on by itself until none is', async () => {
    let readers = 2;
    const purged = new Promise<void>((resolve) => {
      const purger = new Purger(async () => {
        if (readers-- > 0) return false;
        resolve();
        return true;
      });
      void purger.request().then((done) => expect(done).toBe(false));
    });
    await purged;
    expect(readers).toBe(-1);
  });
});
