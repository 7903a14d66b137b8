import { describe, expect, it } from 'vitest';
import type { TelemetryEvent } from '../../ports/runtime.ts';
import { indexTask, purgeTask, shrinkTask } from './purging.ts';
import type { PurgeStep } from './write-thread.ts';

describe('purging', () => {
  it('goes on from step to step to the end of the file, and anew after a failure', async () => {
    const steps: (PurgeStep | undefined)[] = [];
    const purge = purgeTask({
      async step(step) {
        steps.push(step);
        if (steps.length === 2) throw new Error('the disk has failed');
        return steps.length < 5 ? { fromPage: steps.length * 100, asked: '1' } : 'done';
      },
    });
    expect(await purge.request()).toBe(false);
    expect(await purge.request('now')).toBe(true);
    const [first, third, fourth] = [1, 3, 4].map((at) => ({ fromPage: at * 100, asked: '1' }));
    expect(steps).toEqual([undefined, first, undefined, third, fourth]);
  });

  it('says once that it fails, however often it does, and that it is done at last', async () => {
    const told: TelemetryEvent[] = [];
    let tries = 0;
    const done = new Promise<void>((onDone) => {
      const purge = purgeTask({
        async step() {
          tries++;
          if (tries < 3) throw new Error(`the disk has failed ${tries} times`);
          return 'done';
        },
        onDone,
        telemetry: { report: (event) => told.push(event) },
      });
      void purge.request();
    });
    await done;
    await expect
      .poll(() => told)
      .toMatchObject([
        { level: 'error', component: 'storage', event: 'purge_failed' },
        { level: 'info', component: 'storage', event: 'purge_recovered' },
      ]);
    expect(String(told[0]?.error)).toContain('failed 1 times');
  });
});

describe('shrinking', () => {
  it('begins once, goes on when the reader in its way has gone, and begins again when it is asked for later', async () => {
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

  it('leaves a step that fails to the next request', async () => {
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

describe('what keeps the index near the file', () => {
  const searcher = (follow: () => Promise<boolean>) => ({
    call: async <T>() => (await follow()) as T,
    close: async () => {},
    stop: async () => {},
  });

  it('goes on until the index is there', async () => {
    let looks = 0;
    expect(await indexTask(searcher(async () => ++looks > 50)).request()).toBe(true);
    expect(looks).toBe(51);
  });

  it('leaves what fails to the next search, and looks again after the next write', async () => {
    let looks = 0;
    const index = indexTask(
      searcher(async () => {
        looks++;
        throw new Error('the file cannot be read');
      }),
    );
    for (const expected of [1, 2]) {
      expect(await index.request()).toBe(false);
      expect(looks).toBe(expected);
    }
  });
});
