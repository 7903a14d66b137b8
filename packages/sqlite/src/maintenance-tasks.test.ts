import type { TelemetryEvent } from '@memoryd/core/ports';
import { describe, expect, it } from 'vitest';
import { indexTask, purgeTask, shrinkTask } from './maintenance-tasks.ts';
import type { PurgeStep } from './write-thread.ts';

describe('purgeTask', () => {
  it('continues step by step to the end of the file, and restarts at the beginning after a failure', async () => {
    const steps: (PurgeStep | undefined)[] = [];
    const purge = purgeTask({
      async step(step) {
        steps.push(step);
        if (steps.length === 2) throw new Error('the disk has failed');
        return steps.length < 5 ? { fromPage: steps.length * 100, requestId: '1' } : 'done';
      },
    });
    expect(await purge.request()).toBe(false);
    expect(await purge.request('now')).toBe(true);
    const [first, third, fourth] = [1, 3, 4].map((at) => ({ fromPage: at * 100, requestId: '1' }));
    expect(steps).toEqual([undefined, first, undefined, third, fourth]);
  });

  it('reports the first of several consecutive failures, and the recovery', async () => {
    const events: TelemetryEvent[] = [];
    let tries = 0;
    const done = new Promise<void>((onDone) => {
      const purge = purgeTask({
        async step() {
          tries++;
          if (tries < 3) throw new Error(`the disk has failed ${tries} times`);
          return 'done';
        },
        onDone,
        telemetry: { report: (event) => events.push(event) },
      });
      void purge.request();
    });
    await done;
    await expect
      .poll(() => events)
      .toMatchObject([
        { level: 'error', component: 'storage', event: 'purge_failed' },
        { level: 'info', component: 'storage', event: 'purge_recovered' },
      ]);
    expect(String(events[0]?.error)).toContain('failed 1 times');
  });
});

describe('shrinkTask', () => {
  it('continues after a reader no longer blocks it, and restarts at a later request', async () => {
    const begun: boolean[] = [];
    const shrink = shrinkTask(async (step) => {
      begun.push(step);
      return begun.length === 1 ? 'more' : begun.length === 2 ? 'held-up' : 'done';
    });
    expect(await shrink.request()).toBe(false);
    await expect.poll(() => begun).toEqual([false, true, true]);
    expect(await shrink.request()).toBe(true);
    expect(begun.at(-1)).toBe(false);
  });

  it('shrinkTask does not retry a failed step before the next request', async () => {
    let steps = 0;
    const shrink = shrinkTask(async () => {
      steps++;
      throw new Error('the disk is full');
    });
    await shrink.request();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(steps).toBe(1);
  });
});

describe('indexTask', () => {
  const createSearcher = (follow: () => Promise<boolean>) => ({
    call: async <T>() => (await follow()) as T,
    close: async () => {},
    stop: async () => {},
  });

  it('repeats its step until the index is up to date', async () => {
    let calls = 0;
    expect(await indexTask(createSearcher(async () => ++calls > 50)).request()).toBe(true);
    expect(calls).toBe(51);
  });

  it('indexTask does not retry a failed step before the next request', async () => {
    let calls = 0;
    const index = indexTask(
      createSearcher(async () => {
        calls++;
        throw new Error('the file cannot be read');
      }),
    );
    for (const expected of [1, 2]) {
      expect(await index.request()).toBe(false);
      expect(calls).toBe(expected);
    }
  });
});
