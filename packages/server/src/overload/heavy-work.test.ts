import { describe, expect, it } from 'vitest';
import { Turns } from './heavy-work.ts';

const stays = new AbortController().signal;

describe('turns', () => {
  it('go to so many at a time, in the order of asking', async () => {
    const turns = new Turns({ atOnce: 2, waiting: 10 });
    const begun: number[] = [];
    const ends = await Promise.all([0, 1].map(() => turns.take(stays)));
    const later = [0, 1, 2].map(async (n) => {
      const end = await turns.take(stays);
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

  it('that end twice make room once', async () => {
    const turns = new Turns({ atOnce: 1, waiting: 0 });
    const end = await turns.take(stays);
    end();
    end();
    await turns.take(stays);
    await expect(turns.take(stays)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('are refused where too many wait, and given to those who wait in their place', async () => {
    const turns = new Turns({ atOnce: 1, waiting: 1 });
    const end = await turns.take(stays);
    const waits = turns.take(stays);
    await expect(turns.take(stays)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    end();
    expect(await waits).toBeTypeOf('function');
  });

  it('are refused after too long a wait, and not taken by those who have gone', async () => {
    const turns = new Turns({ atOnce: 1, waiting: 2 });
    const end = await turns.take(stays);
    const leaves = new AbortController();
    const gone = turns.take(leaves.signal);
    await expect(turns.take(stays, 10)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    leaves.abort();
    await expect(gone).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    end();
    expect(await turns.take(stays, 10)).toBeTypeOf('function');
  });
});
