import Fastify from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import { limitHeavyWork, Turns } from './heavy-work.ts';

const stays = () => new AbortController().signal;
const PATIENT_MS = 10_000;

describe('turns', () => {
  it('go to so many at a time, in the order of asking', async () => {
    const turns = new Turns({ atOnce: 2, waiting: 10 });
    const begun: number[] = [];
    const ends = await Promise.all([0, 1].map(() => turns.take(stays, PATIENT_MS)));
    const later = [0, 1, 2].map(async (n) => {
      const end = await turns.take(stays, PATIENT_MS);
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
    const end = await turns.take(stays, PATIENT_MS);
    end();
    end();
    await turns.take(stays, PATIENT_MS);
    await expect(turns.take(stays, PATIENT_MS)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('are refused where too many wait, and given to those who wait in their place', async () => {
    const turns = new Turns({ atOnce: 1, waiting: 1 });
    const end = await turns.take(stays, PATIENT_MS);
    const waits = turns.take(stays, PATIENT_MS);
    await expect(turns.take(stays, PATIENT_MS)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    end();
    expect(await waits).toBeTypeOf('function');
  });

  it('are refused after too long a wait, and not taken by those who have gone', async () => {
    const turns = new Turns({ atOnce: 1, waiting: 2 });
    const end = await turns.take(stays, PATIENT_MS);
    const leaves = new AbortController();
    const gone = turns.take(() => leaves.signal, PATIENT_MS);
    await expect(turns.take(stays, 10)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    leaves.abort();
    await expect(gone).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    end();
    expect(await turns.take(stays, 10)).toBeTypeOf('function');
  });
});

describe('heavy work', () => {
  it.each(['answered', 'sent past all hooks'])('ends its turn when it is %s', async (how) => {
    const app = Fastify();
    onTestFinished(() => app.close());
    limitHeavyWork(app, 30_000);
    app.get('/', { config: { heavy: 'copy' } }, async (_request, reply) => {
      if (how === 'answered') return 'whole';
      reply.hijack();
      reply.raw.end('whole');
      return reply;
    });
    const address = await app.listen();
    // More than have their turn at a time.
    for (let i = 0; i < 10; i++) expect(await (await fetch(address)).text()).toBe('whole');
    await expect.poll(() => app.heavyWork.get('copy')?.taken).toBe(0);
  });
});
