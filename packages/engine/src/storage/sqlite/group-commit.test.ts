import { describe, expect, it } from 'vitest';
import { GroupCommit } from './group-commit.ts';
import type { WriteCall } from './write-thread.ts';

function committer() {
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

describe('group commit', () => {
  it('lets what arrives during a commit share the next one', async () => {
    const { writes, batches, finishAll } = committer();
    const answers = Promise.all(Array.from({ length: 50 }, (_, i) => writes.run('dropIdempotencyKeys', [i, 1])));
    await finishAll();
    expect(batches.map((batch) => batch.length)).toEqual([1, 49]);
    expect(await answers).toEqual(Array.from({ length: 50 }, (_, i) => i));
  });

  it('bounds what one transaction commits, by memories and by text', async () => {
    const { writes, batches, finishAll } = committer();
    const large = Array.from({ length: 5 }, () =>
      writes.run('dropIdempotencyKeys', [0, 1], { chars: 2 * 1024 * 1024 }),
    );
    const many = Array.from({ length: 6 }, () => writes.run('dropIdempotencyKeys', [0, 1], { memories: 200 }));
    const single = Array.from({ length: 600 }, () => writes.run('dropIdempotencyKeys', [0, 1]));
    await finishAll();
    await Promise.all([...large, ...many, ...single]);
    expect(batches.map((batch) => batch.length)).toEqual([1, 2, 2 + 2, 2, 2 + 112, 488]);
  });

  it('asks for an argument that is a function when it is the turn of its call', async () => {
    const { writes, batches, finishAll } = committer();
    let made = 0;
    const answers = Promise.all([1, 2].map(() => writes.run('dropIdempotencyKeys', [() => made, 1])));
    made = 7;
    await finishAll();
    expect(await answers).toEqual([0, 7]);
    expect(batches.map((batch) => batch.map((call) => call.args))).toEqual([[[0, 1]], [[7, 1]]]);
  });

  it('refuses what it cannot keep waiting, and takes more when the queue has gone', async () => {
    const { writes, finishAll } = committer();
    const waiting = Array.from({ length: 10_001 }, () => writes.run('dropIdempotencyKeys', [0, 1]));
    await expect(writes.run('dropIdempotencyKeys', [0, 1])).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await finishAll();
    await Promise.all(waiting);
    const later = writes.run('dropIdempotencyKeys', [0, 1]);
    await finishAll();
    await expect(later).resolves.toBe(0);
  });

  it.each([
    ['later', async () => Promise.reject(new Error('disk full'))],
    [
      'at once',
      () => {
        throw new Error('disk full');
      },
    ],
  ])('fails every write of a commit that fails %s, and goes on with the next', async (_when, fail) => {
    let disk: 'full' | 'free' = 'full';
    const writes = new GroupCommit((calls) =>
      disk === 'full' ? fail() : Promise.resolve(calls.map(() => ({ value: 'kept' }))),
    );
    await expect(writes.run('dropIdempotencyKeys', [0, 1])).rejects.toThrow('disk full');
    disk = 'free';
    await expect(writes.run('dropIdempotencyKeys', [0, 1])).resolves.toBe('kept');
  });
});
