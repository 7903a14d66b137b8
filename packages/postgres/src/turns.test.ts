import { expect, it, onTestFinished, vi } from 'vitest';
import { Turns } from './turns.ts';

const LIMITS = { atOnce: 2, waiting: 3, waitingMs: 1000 };

/** Works that end when they are told to, and the names of those that have begun. */
function works(turns: Turns) {
  const begun: string[] = [];
  const start = (name: string) => {
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const done = turns.take(async () => {
      begun.push(name);
      await ended;
      return name;
    });
    return { done, end };
  };
  return { begun, start };
}

it('so many works are under way at a time, and the others follow in order', async () => {
  const { begun, start } = works(new Turns(LIMITS));
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(start) as [Work, Work, Work, Work];
  expect(begun).toEqual(['a', 'b']);
  b.end();
  expect(await b.done).toBe('b');
  const e = start('e');
  await vi.waitFor(() => expect(begun).toEqual(['a', 'b', 'c']));
  for (const work of [a, c, d, e]) work.end();
  await Promise.all([a, c, d, e].map(({ done }) => done));
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'e']);
  const [f, g] = ['f', 'g'].map(start) as [Work, Work];
  expect(begun.slice(5)).toEqual(['f', 'g']);
  f.end();
  g.end();
});

it('a work that fails lets the next begin', async () => {
  const turns = new Turns({ ...LIMITS, atOnce: 1 });
  const failed = turns.take(() => Promise.reject(new Error('failed')));
  const next = turns.take(async () => 'done');
  await expect(failed).rejects.toThrow('failed');
  expect(await next).toBe('done');
});

it('who waits too long or comes when too many wait is refused, and takes no turn', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { begun, start } = works(new Turns({ ...LIMITS, atOnce: 1 }));
  const first = start('first');
  const refused = ['a', 'b', 'c', 'd'].map((name) => expect(start(name).done).rejects.toMatchObject(UNAVAILABLE));
  await refused[3];
  await vi.advanceTimersByTimeAsync(LIMITS.waitingMs);
  await Promise.all(refused);
  const last = start('last');
  first.end();
  last.end();
  await last.done;
  expect(begun).toEqual(['first', 'last']);
});

it('who waits is refused at once when there will be no more turns', async () => {
  const turns = new Turns({ ...LIMITS, atOnce: 1 });
  const { begun, start } = works(turns);
  const first = start('first');
  const refused = expect(start('waiting').done).rejects.toMatchObject(UNAVAILABLE);
  turns.close();
  await refused;
  first.end();
  await first.done;
  expect(begun).toEqual(['first']);
});

type Work = ReturnType<ReturnType<typeof works>['start']>;

const UNAVAILABLE = { code: 'UNAVAILABLE' };
