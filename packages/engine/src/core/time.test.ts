import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ArrivalClock, paced, toMs, toTimestamp } from './time.ts';

describe('timestamps', () => {
  it.each([
    ['2026-01-31T09:30:00Z', '2026-01-31T09:30:00.000Z'],
    ['2026-01-31t09:30:00.5z', '2026-01-31T09:30:00.500Z'],
    ['2026-01-31T09:30:00.123456Z', '2026-01-31T09:30:00.123Z'],
    ['2026-01-31T09:30:00+05:30', '2026-01-31T04:00:00.000Z'],
    ['2016-12-31T23:59:60Z', '2016-12-31T23:59:59.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
  ])('%s is kept as %s', (given, kept) => {
    expect(toTimestamp(toMs(given, 'created_at'))).toBe(kept);
  });

  it.each(['9999-12-31T23:59:59-23:59', '0000-01-01T00:00:00+00:01'])('%s is out of range', (given) => {
    expect(() => toMs(given, 'created_at')).toThrow('created_at must be in the years 0000 to 9999 in UTC');
  });
});

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
