import { describe, expect, it } from 'vitest';
import { Purger } from './purger.ts';
import type { PurgeStep } from './write-thread.ts';

describe('purging', () => {
  it('lets requests that come during a purge share the next, which begins after them', async () => {
    const finish: ((step: PurgeStep) => void)[] = [];
    const purger = new Purger(() => new Promise((resolve) => finish.push(resolve)));
    const first = purger.request();
    const [second, third] = [purger.request(), purger.request()];
    expect(finish).toHaveLength(1);
    finish[0]?.('done');
    expect(await first).toBe(true);
    await new Promise(setImmediate);
    expect(finish).toHaveLength(2);
    finish[1]?.('done');
    expect(await Promise.all([second, third])).toEqual([true, true]);
  });

  it('says when a reader is in the way, and goes on by itself until none is', async () => {
    let readers = 2;
    const purged = new Promise<void>((resolve) => {
      const purger = new Purger(async () => {
        if (readers-- > 0) return 'held-up';
        resolve();
        return 'done';
      });
      void purger.request().then((done) => expect(done).toBe(false));
    });
    await purged;
    expect(readers).toBe(-1);
  });

  it('goes on from step to step to the end of the file', async () => {
    const steps: (PurgeStep | undefined)[] = [];
    const purger = new Purger(async (step) => {
      steps.push(step);
      return steps.length < 3 ? { fromPage: steps.length * 100, asked: '1' } : 'done';
    });
    expect(await purger.request()).toBe(true);
    expect(steps).toEqual([undefined, { fromPage: 100, asked: '1' }, { fromPage: 200, asked: '1' }]);
  });

  it('tries no more once it is stopped', async () => {
    let tries = 0;
    const purger = new Purger(async () => {
      tries++;
      return 'held-up';
    });
    void purger.request();
    await purger.stop();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(tries).toBe(1);
  });
});
