import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ArrivalClock, paced, withPauses } from './time.ts';

const DAY_MS = 86_400_000;

/** Returns the arrival times for successive times of the clock. */
function getArrivalTimes(...times: number[]): number[] {
  let now = 0;
  const arrivals = new ArrivalClock({ now: () => now });
  return times.map((time) => {
    now = time;
    return arrivals.now();
  });
}

it('ArrivalClock keeps the order of arrivals if the clock is set back by up to a day', () => {
  expect(getArrivalTimes(5 * DAY_MS, 4 * DAY_MS, 4.5 * DAY_MS, 5 * DAY_MS, 5 * DAY_MS + 1)).toEqual([
    5 * DAY_MS,
    5 * DAY_MS,
    5 * DAY_MS,
    5 * DAY_MS,
    5 * DAY_MS + 1,
  ]);
});

it('ArrivalClock adopts the time of a clock that is set forward, or set back by more than a day', () => {
  expect(getArrivalTimes(5 * DAY_MS, 90 * DAY_MS, 5 * DAY_MS, 5 * DAY_MS + 1)).toEqual([
    5 * DAY_MS,
    90 * DAY_MS,
    5 * DAY_MS,
    5 * DAY_MS + 1,
  ]);
});

describe('paced', () => {
  it('lets other work run before it returns the result', async () => {
    let hasOtherWorkRun = false;
    const result = await paced(async () => {
      await delay(20);
      setTimeout(() => {
        hasOtherWorkRun = true;
      }, 0);
      return 'done';
    });
    expect(result).toBe('done');
    expect(hasOtherWorkRun).toBe(true);
  });

  it('rejects if the work fails', async () => {
    await expect(paced(() => Promise.reject(new Error('the disk is full')))).rejects.toThrow('the disk is full');
  });
});

it('withPauses lets other work run between items that need no waiting', async () => {
  let hasRun = false;
  setImmediate(() => {
    hasRun = true;
  });
  async function* items() {
    // The limit ends the test if nothing else can run.
    for (let count = 0; count < 10_000_000 && !hasRun; count++) yield count;
  }
  for await (const _ of withPauses(items()));
  expect(hasRun).toBe(true);
});
