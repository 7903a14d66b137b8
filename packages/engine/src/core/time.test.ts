import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ArrivalClock, paced } from './time.ts';

const DAY_MS = 86_400_000;

/** What arrivals are told while the clock shows these times, one after the other. */
function told(...times: number[]): number[] {
  let now = 0;
  const arrivals = new ArrivalClock({ now: () => now });
  return times.map((time) => {
    now = time;
    return arrivals.now();
  });
}

it('keeps the order of arrival while the clock is set back by up to a day', () => {
  expect(told(5 * DAY_MS, 4 * DAY_MS, 4.5 * DAY_MS, 5 * DAY_MS, 5 * DAY_MS + 1)).toEqual([
    5 * DAY_MS,
    5 * DAY_MS,
    5 * DAY_MS,
    5 * DAY_MS,
    5 * DAY_MS + 1,
  ]);
});

it('follows a clock that is set back by more, and any that is set forward', () => {
  expect(told(5 * DAY_MS, 90 * DAY_MS, 5 * DAY_MS, 5 * DAY_MS + 1)).toEqual([
    5 * DAY_MS,
    90 * DAY_MS,
    5 * DAY_MS,
    5 * DAY_MS + 1,
  ]);
});

describe('a part of work that nobody waits for', () => {
  it('is followed by a pause in which others have their turn, and then answers', async () => {
    let othersHadTurn = false;
    const answer = await paced(async () => {
      await delay(20);
      setTimeout(() => {
        othersHadTurn = true;
      }, 0);
      return 'done';
    });
    expect(answer).toBe('done');
    expect(othersHadTurn).toBe(true);
  });

  it('tells its failure', async () => {
    await expect(paced(() => Promise.reject(new Error('the disk is full')))).rejects.toThrow('the disk is full');
  });
});
