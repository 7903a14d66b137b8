import { describe, expect, it } from 'vitest';
import { FairQueue, type FairQueueLimits } from './fair-queue.ts';

const MESSAGES = { full: 'the queue is full', timeout: 'timeout', share: 'the key has reached its limit' };
const newQueue = (limits: Partial<FairQueueLimits> & Pick<FairQueueLimits, 'maxRunning' | 'maxWaiting'>) =>
  new FairQueue({ timeoutMs: 10_000, ...limits }, MESSAGES);

describe('a fair queue', () => {
  it('limits concurrency and serves callers in order of arrival', async () => {
    const queue = newQueue({ maxRunning: 2, maxWaiting: 10 });
    const begun: number[] = [];
    const releases = await Promise.all([0, 1].map(() => queue.acquire('a')));
    const later = [0, 1, 2].map(async (n) => {
      const release = await queue.acquire('a');
      begun.push(n);
      return release;
    });
    await Promise.resolve();
    expect(begun).toEqual([]);
    for (const release of releases) release();
    await Promise.all(later.slice(0, 2));
    expect(begun).toEqual([0, 1]);
    (await later[0])?.();
    await later[2];
    expect(begun).toEqual([0, 1, 2]);
  });

  it('serves keys with waiting callers round robin', async () => {
    const queue = newQueue({ maxRunning: 1, maxWaiting: 10 });
    const release = await queue.acquire('a');
    const begun: string[] = [];
    const all = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map(async (name) => {
      const releaseNext = await queue.acquire(name.charAt(0));
      begun.push(name);
      releaseNext();
    });
    release();
    await Promise.all(all);
    expect(begun).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
    expect([queue.running, queue.waiting]).toEqual([0, 0]);
  });

  it('rejects the last caller of the key with the most waiting callers if a caller of another key needs the place', async () => {
    const queue = newQueue({ maxRunning: 1, maxWaiting: 3 });
    const release = await queue.acquire('a');
    const [first, second, third] = [1, 2, 3].map(() => queue.acquire('a'));
    const other = queue.acquire('b');
    await expect(third).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(queue.acquire('b')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(queue.acquire('a')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(queue.waiting).toBe(3);
    release();
    (await first)?.();
    (await other)();
    (await second)?.();
    expect([queue.running, queue.waiting]).toEqual([0, 0]);
  });

  it('releases a slot only once, even if release is called twice', async () => {
    const queue = newQueue({ maxRunning: 1, maxWaiting: 0 });
    const release = await queue.acquire('a');
    release();
    release();
    await queue.acquire('a');
    await expect(queue.acquire('a')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('rejects a caller if the queue is full, and still serves the waiting callers', async () => {
    const queue = newQueue({ maxRunning: 1, maxWaiting: 1 });
    const release = await queue.acquire('a');
    const waits = queue.acquire('a');
    await expect(queue.acquire('a')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    release();
    expect(await waits).toBeTypeOf('function');
  });

  it('rejects a caller after the timeout or when it disconnects', async () => {
    const queue = newQueue({ maxRunning: 1, maxWaiting: 2, timeoutMs: 10 });
    const release = await queue.acquire('a');
    const controller = new AbortController();
    const gone = queue.acquire('a', () => controller.signal);
    controller.abort();
    await expect(gone).rejects.toMatchObject({ code: 'UNAVAILABLE', message: MESSAGES.full });
    await expect(queue.acquire('a')).rejects.toMatchObject({ code: 'UNAVAILABLE', message: MESSAGES.timeout });
    release();
    expect(await queue.acquire('a')).toBeTypeOf('function');
  });

  it('limits the slots per key, and frees a slot on release', async () => {
    const queue = newQueue({ maxRunning: 3, maxWaiting: 1, maxPerKey: 1 });
    const release = await queue.acquire('a');
    await expect(queue.acquire('a')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await queue.acquire('b');
    release();
    release();
    await queue.acquire('a');
    await expect(queue.acquire('a')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('a fair queue does not count rejected callers towards the limit of their key', async () => {
    const queue = newQueue({ maxRunning: 1, maxWaiting: 1, maxPerKey: 1, timeoutMs: 10 });
    const release = await queue.acquire('a');
    await expect(queue.acquire('b')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    release();
    expect(await queue.acquire('b')).toBeTypeOf('function');
  });

  it('rejects all waiting callers when it is closed', async () => {
    const queue = newQueue({ maxRunning: 1, maxWaiting: 3 });
    const release = await queue.acquire('a');
    const waiting = ['a', 'b', undefined].map((key) => queue.acquire(key));
    queue.close('the queue is closed');
    for (const slot of waiting) await expect(slot).rejects.toMatchObject({ message: 'the queue is closed' });
    release();
    expect([queue.running, queue.waiting]).toEqual([0, 0]);
  });

  it('releases a slot when the work that uses it ends or fails', async () => {
    const queue = newQueue({ maxRunning: 1, maxWaiting: 1 });
    const failed = queue.run(() => Promise.reject(new Error('failed')));
    const next = queue.run(async () => 'done');
    await expect(failed).rejects.toThrow('failed');
    expect(await next).toBe('done');
    expect(queue.running).toBe(0);
  });
});
