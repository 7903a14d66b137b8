import { describe, expect, it } from 'vitest';
import { Shrinker } from './shrinker.ts';

describe('shrinking', () => {
  it('goes on from step to step, and is under way once however often it is asked for', async () => {
    const begun: boolean[] = [];
    const ended = new Promise<void>((resolve) => {
      const shrinker = new Shrinker(async (step) => {
        begun.push(step);
        if (begun.length < 4) return 'more';
        resolve();
        return 'done';
      });
      shrinker.request();
      shrinker.request();
    });
    await ended;
    expect(begun).toEqual([false, true, true, true]);
  });

  it('goes on by itself when the reader who was in the way has gone', async () => {
    let readers = 2;
    await new Promise<void>((resolve) => {
      const shrinker = new Shrinker(async () => {
        if (readers-- > 0) return 'held-up';
        resolve();
        return 'done';
      });
      shrinker.request();
    });
    expect(readers).toBe(-1);
  });

  it('begins no step once it is stopped', async () => {
    let steps = 0;
    const shrinker = new Shrinker(async () => {
      steps++;
      return 'more';
    });
    shrinker.request();
    await shrinker.stop();
    shrinker.request();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(steps).toBe(1);
  });

  it('is asked for again after a step that failed', async () => {
    let steps = 0;
    const shrinker = new Shrinker(async () => {
      steps++;
      throw new Error('the disk is full');
    });
    shrinker.request();
    await new Promise(setImmediate);
    shrinker.request();
    await shrinker.stop();
    expect(steps).toBe(2);
  });
});
