import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryError } from './memory-error.ts';
import { type StoreJob, StoreQueue } from './store-queue.ts';

describe('a store queue', () => {
  const reports: unknown[] = [];
  const attempts: string[] = [];

  beforeEach(() => {
    vi.useFakeTimers();
    vi.spyOn(Math, 'random').mockReturnValue(1);
    reports.length = 0;
    attempts.length = 0;
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  /** Creates a job whose attempts have these outcomes. The last outcome repeats. */
  function createJob(session: string, name: string, ...outcomes: (Error | Promise<void> | undefined)[]): StoreJob {
    let attempt = 0;
    return {
      session,
      requests: [{ content: name }],
      bytes: 1,
      async store() {
        attempts.push(name);
        const outcome = outcomes[Math.min(attempt++, outcomes.length - 1)];
        if (outcome instanceof Error) throw outcome;
        await outcome;
      },
      report: (error) => reports.push(error),
    };
  }

  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
  const down = new MemoryError('UNAVAILABLE', 'down');

  it('makes one attempt at a time while the service fails, with growing delays of at most 30 seconds', async () => {
    const queue = new StoreQueue();
    for (const name of ['a', 'b', 'c']) queue.add(createJob(name, name, down));
    await pass(0);
    // The first attempts start before the queue knows of the outage.
    expect(attempts.splice(0)).toEqual(['a', 'b', 'c']);
    for (const delay of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) {
      await pass(delay - 1);
      expect(attempts).toEqual([]);
      await pass(1);
      expect(attempts.splice(0)).toEqual(['a']);
    }
    expect(reports).toHaveLength(1);
  });

  it('waits as long as the service asks for, but at most 30 seconds', async () => {
    const queue = new StoreQueue();
    const limited = (retryAfterSeconds: number) =>
      new MemoryError('RATE_LIMITED', 'too many requests', { status: 429, retryAfterSeconds });
    queue.add(createJob('a', 'a', limited(20), limited(3600), undefined));
    await pass(19_999);
    expect(attempts).toHaveLength(1);
    await pass(1);
    expect(attempts).toHaveLength(2);
    await pass(30_000);
    expect(attempts).toHaveLength(3);
    expect(queue.getUnstored('a')).toEqual([]);
  });

  it('stores the jobs of a session in order, and at most eight sessions at a time', async () => {
    const queue = new StoreQueue();
    const ends: (() => void)[] = [];
    const untilEnd = () => new Promise<void>((resolve) => ends.push(resolve));
    for (let n = 1; n <= 9; n++) for (const half of ['a', 'b']) queue.add(createJob(`${n}`, `${n}${half}`, untilEnd()));
    await pass(0);
    expect(attempts).toEqual(['1a', '2a', '3a', '4a', '5a', '6a', '7a', '8a']);
    ends[0]?.();
    await pass(0);
    expect(attempts.slice(8)).toEqual(['1b']);
    expect(queue.getUnstored('1')).toEqual([{ content: '1b' }]);
  });

  it('drops a job that the service rejects, and stores the next job', async () => {
    const queue = new StoreQueue();
    const invalid = new MemoryError('INVALID_REQUEST', 'content is required', { status: 400, requestId: 'request-1' });
    queue.add(createJob('a', 'invalid', invalid));
    queue.add(createJob('a', 'valid'));
    await pass(0);
    expect(attempts).toEqual(['invalid', 'valid']);
    expect(reports).toEqual([invalid]);
  });

  it.each([
    ['an internal error', new MemoryError('INTERNAL_ERROR', 'failed', { status: 500 })],
    ['a page of a proxy', new MemoryError('NOT_FOUND', 'not a memoryd error', { status: 404 })],
    ['an error of another MemoryApi', new TypeError('x is undefined')],
  ])('drops a job after five attempts that end with %s, so that other jobs are stored', async (_name, error) => {
    const queue = new StoreQueue();
    queue.add(createJob('a', 'failing', error));
    await pass(0);
    queue.add(createJob('b', 'valid'));
    await pass(60_000);
    expect(attempts).toEqual([...new Array(5).fill('failing'), 'valid']);
    expect(reports.at(-1)).toBe(error);
  });

  it('retries each second while flush waits, and at the start of flush', async () => {
    const queue = new StoreQueue();
    queue.add(createJob('a', 'a', ...new Array(6).fill(down), undefined));
    await pass(20_000);
    attempts.length = 0;
    const flushing = queue.flush(60_000);
    await pass(0);
    expect(attempts).toEqual(['a']);
    await pass(1000);
    await flushing;
    expect(attempts).toEqual(['a', 'a']);
  });

  it('removes the waiting jobs of a session, and does not repeat the attempt in progress', async () => {
    const queue = new StoreQueue();
    let fail = () => {};
    const failing = new Promise<void>((_resolve, reject) => {
      fail = () => reject(down);
    });
    queue.add(createJob('a', 'in progress', failing));
    queue.add(createJob('a', 'waiting'));
    queue.add(createJob('b', 'of another session'));
    const clearing = queue.clear('a');
    fail();
    await clearing;
    await pass(60_000);
    expect(attempts).toEqual(['in progress', 'of another session']);
    expect(queue.getUnstored('a')).toEqual([]);
  });
});
