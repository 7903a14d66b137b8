import { describe, expect, it } from 'vitest';
import { GroupCommit } from './group-commit.ts';
import type { WriteCall } from './write-thread.ts';

function createCommitter() {
  const batches: WriteCall[][] = [];
  let finish: (() => void)[] = [];
  const writes = new GroupCommit((calls) => {
    batches.push(calls);
    return new Promise((resolve) => finish.push(() => resolve(calls.map((call) => ({ value: call.args[0] })))));
  });
  const finishAll = async () => {
    while (finish.length > 0) {
      for (const done of finish.splice(0)) done();
      await new Promise(setImmediate);
    }
    finish = [];
  };
  return { writes, batches, finishAll };
}

describe('GroupCommit', () => {
  it('groups writes that arrive during a commit into the next commit', async () => {
    const { writes, batches, finishAll } = createCommitter();
    const results = Promise.all(Array.from({ length: 50 }, (_, i) => writes.run('dropIdempotencyKeys', [i, 1])));
    await finishAll();
    expect(batches.map((batch) => batch.length)).toEqual([1, 49]);
    expect(await results).toEqual(Array.from({ length: 50 }, (_, i) => i));
  });

  it('limits the number of memories and the length of the texts in one transaction', async () => {
    const { writes, batches, finishAll } = createCommitter();
    const large = Array.from({ length: 5 }, () =>
      writes.run('dropIdempotencyKeys', [0, 1], { chars: 2 * 1024 * 1024 }),
    );
    const many = Array.from({ length: 6 }, () => writes.run('dropIdempotencyKeys', [0, 1], { memories: 200 }));
    const single = Array.from({ length: 600 }, () => writes.run('dropIdempotencyKeys', [0, 1]));
    await finishAll();
    await Promise.all([...large, ...many, ...single]);
    expect(batches.map((batch) => batch.length)).toEqual([1, 2, 2 + 2, 2, 2 + 112, 488]);
  });

  it('evaluates an argument that is a function right before the commit of its call', async () => {
    const { writes, batches, finishAll } = createCommitter();
    let made = 0;
    const results = Promise.all([1, 2].map(() => writes.run('dropIdempotencyKeys', [() => made, 1])));
    made = 7;
    await finishAll();
    expect(await results).toEqual([0, 7]);
    expect(batches.map((batch) => batch.map((call) => call.args))).toEqual([[[0, 1]], [[7, 1]]]);
  });

  it('rejects writes if the queue is full, and accepts writes again after the queue has drained', async () => {
    const { writes, finishAll } = createCommitter();
    const waiting = Array.from({ length: 10_001 }, () => writes.run('dropIdempotencyKeys', [0, 1]));
    await expect(writes.run('dropIdempotencyKeys', [0, 1])).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await finishAll();
    await Promise.all(waiting);
    const later = writes.run('dropIdempotencyKeys', [0, 1]);
    await finishAll();
    await expect(later).resolves.toBe(0);
  });

  it.each([
    ['asynchronously', async () => Promise.reject(new Error('disk full'))],
    [
      'synchronously',
      () => {
        throw new Error('disk full');
      },
    ],
  ])('rejects every write of a commit that fails %s, and continues with the next commit', async (_name, fail) => {
    let disk: 'full' | 'free' = 'full';
    const writes = new GroupCommit((calls) =>
      disk === 'full' ? fail() : Promise.resolve(calls.map(() => ({ value: 'stored' }))),
    );
    await expect(writes.run('dropIdempotencyKeys', [0, 1])).rejects.toThrow('disk full');
    disk = 'free';
    await expect(writes.run('dropIdempotencyKeys', [0, 1])).resolves.toBe('stored');
  });
});
