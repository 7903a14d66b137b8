import { describe, expect, it } from 'vitest';
import type { TelemetryEvent } from '../../ports/telemetry.ts';
import { Purger } from './purger.ts';
import type { PurgeStep } from './write-thread.ts';

describe('purging', () => {
  it('lets requests that come during a purge share the next, which begins after them', async () => {
    const finish: ((step: PurgeStep) => void)[] = [];
    const purger = new Purger({ step: () => new Promise((resolve) => finish.push(resolve)) });
    const first = purger.request();
    const [second, third] = [purger.request(), purger.request()];
    expect(finish).toHaveLength(1);
    finish[0]?.('done');
    expect(await first).toBe(true);
    await new Promise(setImmediate);
    expect(finish).toHaveLength(2);
    finish[1]?.('done');
    expect(await Promise.all([second, third])).toEqual([true, true]);
  });

  it('says when a reader is in the way, and goes on by itself until none is', async () => {
    let readers = 2;
    const purged = new Promise<void>((resolve) => {
      const step = async () => {
        if (readers-- > 0) return 'held-up';
        resolve();
        return 'done';
      };
      const purger = new Purger({ step });
      void purger.request().then((done) => expect(done).toBe(false));
    });
    await purged;
    expect(readers).toBe(-1);
  });

  it('goes on from step to step to the end of the file', async () => {
    const steps: (PurgeStep | undefined)[] = [];
    const next = async (step?: PurgeStep) => {
      steps.push(step);
      return steps.length < 3 ? { fromPage: steps.length * 100, asked: '1' } : 'done';
    };
    const purger = new Purger({ step: next });
    expect(await purger.request()).toBe(true);
    expect(steps).toEqual([undefined, { fromPage: 100, asked: '1' }, { fromPage: 200, asked: '1' }]);
  });

  it('says once that it fails, however often it does, and that it is done at last', async () => {
    const told: TelemetryEvent[] = [];
    let tries = 0;
    const step = async () => {
      tries++;
      if (tries < 3) throw new Error(`the disk has failed ${tries} times`);
      return 'done' as const;
    };
    const done = new Promise<void>((onDone) => {
      const purger = new Purger({ step, onDone, telemetry: { report: (event) => told.push(event) } });
      void purger.request();
    });
    await done;
    expect(told).toMatchObject([
      { level: 'error', component: 'storage', event: 'purge_failed' },
      { level: 'info', component: 'storage', event: 'purge_recovered' },
    ]);
    expect(String(told[0]?.error)).toContain('failed 1 times');
  });

  it('tries no more once it is stopped', async () => {
    let tries = 0;
    const step = async () => {
      tries++;
      return 'held-up' as const;
    };
    const purger = new Purger({ step });
    void purger.request();
    await purger.stop();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(tries).toBe(1);
  });
});
