import { describe, expect, it } from 'vitest';
import { FairQueue, type FairQueueLimits } from './fair-queue.ts';

const REFUSALS = { full: 'too many wait', late: 'it takes too long', share: 'the key has its share' };
const newQueue = (limits: Partial<FairQueueLimits> & Pick<FairQueueLimits, 'atOnce' | 'waiting'>) =>
  new FairQueue({ waitingMs: 10_000, ...limits }, REFUSALS);

describe('turns', () => {
  it('go to so many at a time, in the order of asking', async () => {
    const turns = newQueue({ atOnce: 2, waiting: 10 });
    const begun: number[] = [];
    const ends = await Promise.all([0, 1].map(() => turns.take('a')));
    const later = [0, 1, 2].map(async (n) => {
      const end = await turns.take('a');
      begun.push(n);
      return end;
    });
    await Promise.resolve();
    expect(begun).toEqual([]);
    for (const end of ends) end();
    await Promise.all(later.slice(0, 2));
    expect(begun).toEqual([0, 1]);
    (await later[0])?.();
    await later[2];
    expect(begun).toEqual([0, 1, 2]);
  });

  it('go round among the keys that wait for them', async () => {
    const turns = newQueue({ atOnce: 1, waiting: 10 });
    const end = await turns.take('a');
    const begun: string[] = [];
    const all = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map(async (name) => {
      const endOfTurn = await turns.take(name.charAt(0));
      begun.push(name);
      endOfTurn();
    });
    end();
    await Promise.all(all);
    expect(begun).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
    expect([turns.taken, turns.waiting]).toEqual([0, 0]);
  });

  it('of which one key waits for all are given to another in the place of its last', async () => {
    const turns = newQueue({ atOnce: 1, waiting: 3 });
    const end = await turns.take('a');
    const [first, second, third] = [1, 2, 3].map(() => turns.take('a'));
    const other = turns.take('b');
    await expect(third).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(turns.take('b')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(turns.take('a')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(turns.waiting).toBe(3);
    end();
    (await first)?.();
    (await other)();
    (await second)?.();
    expect([turns.taken, turns.waiting]).toEqual([0, 0]);
  });

  it('that end twice make room once', async () => {
    const turns = newQueue({ atOnce: 1, waiting: 0 });
    const end = await turns.take('a');
    end();
    end();
    await turns.take('a');
    await expect(turns.take('a')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('are refused where too many wait, and given to those who wait in their place', async () => {
    const turns = newQueue({ atOnce: 1, waiting: 1 });
    const end = await turns.take('a');
    const waits = turns.take('a');
    await expect(turns.take('a')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    end();
    expect(await waits).toBeTypeOf('function');
  });

  it('are refused after too long a wait, and not taken by those who have gone', async () => {
    const turns = newQueue({ atOnce: 1, waiting: 2, waitingMs: 10 });
    const end = await turns.take('a');
    const leaves = new AbortController();
    const gone = turns.take('a', () => leaves.signal);
    leaves.abort();
    await expect(gone).rejects.toMatchObject({ code: 'UNAVAILABLE', message: REFUSALS.full });
    await expect(turns.take('a')).rejects.toMatchObject({ code: 'UNAVAILABLE', message: REFUSALS.late });
    end();
    expect(await turns.take('a')).toBeTypeOf('function');
  });

  it('go to each key up to its share, which is free again when they end', async () => {
    const turns = newQueue({ atOnce: 3, waiting: 1, ofKey: 1 });
    const end = await turns.take('a');
    await expect(turns.take('a')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await turns.take('b');
    end();
    end();
    await turns.take('a');
    await expect(turns.take('a')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('that are waited for in vain take nothing of the share', async () => {
    const turns = newQueue({ atOnce: 1, waiting: 1, ofKey: 1, waitingMs: 10 });
    const end = await turns.take('a');
    await expect(turns.take('b')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    end();
    expect(await turns.take('b')).toBeTypeOf('function');
  });

  it('are given up where they are waited for when there will be no more', async () => {
    const turns = newQueue({ atOnce: 1, waiting: 3 });
    const end = await turns.take('a');
    const waiting = ['a', 'b', undefined].map((key) => turns.take(key));
    turns.close('it is being closed');
    for (const turn of waiting) await expect(turn).rejects.toMatchObject({ message: 'it is being closed' });
    end();
    expect([turns.taken, turns.waiting]).toEqual([0, 0]);
  });

  it('end with the work that they are for, also where it fails', async () => {
    const turns = newQueue({ atOnce: 1, waiting: 1 });
    const failed = turns.run(() => Promise.reject(new Error('failed')));
    const next = turns.run(async () => 'done');
    await expect(failed).rejects.toThrow('failed');
    expect(await next).toBe('done');
    expect(turns.taken).toBe(0);
  });
});
