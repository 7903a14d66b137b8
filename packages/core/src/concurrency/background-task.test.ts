import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { BackgroundTask, type BackgroundTaskOptions, type Outcome } from './background-task.ts';

const NOON = 43_200_000;

/** Returns a task whose runs are ended by the test, and the runs that have begun. */
function startHeld(options: Partial<BackgroundTaskOptions> = {}) {
  const runs: { end(outcome: Outcome): void; fail(error: Error): void }[] = [];
  const run = () => new Promise<Outcome>((end, fail) => runs.push({ end, fail }));
  return { task: new BackgroundTask({ run, ...options }), runs };
}

/** Returns a task whose runs have the given outcomes, where an error makes a run fail, and then are done. */
function startScripted(outcomes: (Outcome | Error)[], options: Partial<BackgroundTaskOptions> = {}) {
  const runs: (Outcome | Error)[] = [];
  const run = async () => {
    const outcome = outcomes[runs.length] ?? 'done';
    runs.push(outcome);
    if (outcome instanceof Error) throw outcome;
    return outcome;
  };
  return { task: new BackgroundTask({ run, ...options }), runs };
}

describe('a background task', () => {
  it('runs immediately on request', () => {
    const { task, runs } = startHeld();
    void task.request();
    expect(runs).toHaveLength(1);
  });

  it('serves all requests made during a run with one further run', async () => {
    const { task, runs } = startHeld();
    const first = task.request();
    const others = [task.request(), task.request()];
    runs[0]?.end('done');
    expect(await first).toBe(true);
    expect(runs).toHaveLength(2);
    runs[1]?.end('done');
    expect(await Promise.all(others)).toEqual([true, true]);
    expect(runs).toHaveLength(2);
  });

  it('repeats runs while there is more work, and resolves when all work is done', async () => {
    const { task, runs } = startScripted(['more', 'more', 'done']);
    expect(await task.request()).toBe(true);
    expect(runs).toEqual(['more', 'more', 'done']);
  });

  it('debounces requests, and skips the debounce and the pause for an urgent request', async () => {
    const { task, runs } = startScripted([], { debounceMs: NOON, restMs: NOON });
    const debounced = [task.request(), task.request()];
    expect(runs).toEqual([]);
    expect(await task.request('now')).toBe(true);
    expect(await Promise.all(debounced)).toEqual([true, true]);
    const rested = task.request();
    expect(runs).toEqual(['done']);
    expect(await Promise.all([task.request('now'), rested])).toEqual([true, true]);
    expect(runs).toEqual(['done', 'done']);
  });

  it('serves all requests during debounce or pause with one run', async () => {
    const { task, runs } = startScripted([], { debounceMs: 5, restMs: 5 });
    await Promise.all(Array.from({ length: 100 }, () => task.request()));
    expect(runs).toHaveLength(1);
    await Promise.all(Array.from({ length: 100 }, () => task.request()));
    expect(runs).toHaveLength(2);
  });

  it('runs repeatedly at its interval', async () => {
    const { task, runs } = startScripted([], { everyMs: 1 });
    task.start();
    await expect.poll(() => runs.length).toBeGreaterThan(3);
    await task.stop();
  });

  it('returns false if a run is blocked, and retries the run until it is done without reporting a failure', async () => {
    const failures: unknown[] = [];
    const options = { retryMs: () => 1, onFailed: (error: unknown) => failures.push(error) };
    const { task, runs } = startScripted(['held-up', 'held-up'], options);
    expect(await task.request()).toBe(false);
    await expect.poll(() => runs).toEqual(['held-up', 'held-up', 'done']);
    expect(failures).toEqual([]);
  });

  it('serves a request immediately after a blocked run', async () => {
    const { task, runs } = startScripted(['held-up'], { retryMs: () => NOON });
    expect(await task.request()).toBe(false);
    expect(await task.request()).toBe(true);
    expect(runs).toEqual(['held-up', 'done']);
  });

  it('reports the first of consecutive failures and the recovery, and lengthens the pause with each failure', async () => {
    const reported: unknown[] = [];
    const pauses: number[] = [];
    const [first, second, third] = [new Error('first'), new Error('second'), new Error('third')];
    const { task } = startScripted([first, second, 'done', third, 'done'], {
      retryMs: (failures) => pauses.push(failures),
      onFailed: (error) => reported.push(error),
      onRecovered: () => reported.push('recovered'),
    });
    expect(await task.request()).toBe(false);
    await expect.poll(() => reported).toEqual([first, 'recovered']);
    expect(await task.request()).toBe(false);
    await expect.poll(() => reported).toEqual([first, 'recovered', third, 'recovered']);
    expect(new Set(pauses)).toEqual(new Set([1, 2]));
  });

  it('delays a request until the pause after a failure ends, unless the request is urgent', async () => {
    const { task, runs } = startScripted([new Error('fails')], { retryMs: () => NOON });
    expect(await task.request()).toBe(false);
    const waiting = task.request();
    expect([task.failures, runs.length]).toEqual([1, 1]);
    expect(await Promise.all([task.request('now'), waiting])).toEqual([true, true]);
    expect(task.failures).toBe(0);
  });

  it('retries a failed run only at the next request if no retry delay is set', async () => {
    const { task, runs } = startScripted([new Error('fails')]);
    expect(await task.request()).toBe(false);
    await delay(20);
    expect(runs).toHaveLength(1);
    expect(await task.request()).toBe(true);
  });

  it('lets the current run end when it is stopped, and starts no further runs', async () => {
    const { task, runs } = startHeld({ everyMs: 1, retryMs: () => 1 });
    const [served, left] = [task.request(), task.request()];
    let isStopped = false;
    const stopping = task.stop().then(() => {
      isStopped = true;
    });
    await delay(5);
    expect([isStopped, task.signal.aborted]).toEqual([false, true]);
    runs[0]?.end('more');
    await stopping;
    expect(await Promise.all([served, left, task.request('now')])).toEqual([false, false, false]);
    await delay(5);
    expect(runs).toHaveLength(1);
  });

  it('a background task does not report a failure while it is being stopped', async () => {
    const reported: unknown[] = [];
    const { task, runs } = startHeld({ onFailed: (error) => reported.push(error) });
    void task.request();
    const stopping = task.stop();
    runs[0]?.fail(new Error('stopped'));
    await stopping;
    expect(reported).toEqual([]);
  });
});

it('doubling returns a pause that doubles with each failure, up to the maximum', () => {
  const pauses = Array.from({ length: 6 }, (_, failures) => BackgroundTask.doubling(500, 3000)(failures));
  expect(pauses).toEqual([500, 500, 1000, 2000, 3000, 3000]);
});
