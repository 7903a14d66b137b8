import { getGroup } from '@memoryd/suites';
import { describe, expect, it } from 'vitest';
import { extract } from '../src/distil/extract.ts';
import { withFallback } from '../src/distil/with-fallback.ts';
import { type Distiller, DistillerUnavailable } from '../src/ports/distiller.ts';
import type { TelemetryEvent } from '../src/ports/runtime.ts';

const GROUP = getGroup('Ada likes tea.', 'Ada likes tea. Bo too.');
const { signal } = new AbortController();

const fallback: Distiller = { name: 'extractive', quotes: true, distil: async (group) => extract(group) };

/** Creates a distiller that returns or throws one item of a list per call. */
function createDistiller(...replies: (string | Error)[]): Distiller & { calls: number } {
  return {
    name: 'model',
    quotes: false,
    calls: 0,
    async distil() {
      const reply = replies[this.calls++] ?? 'said';
      if (reply instanceof Error) throw reply;
      return { content: reply, facts: [{ text: reply, sources: ['memory-1'] }], by: 'model' };
    },
  };
}

function withReports(first: Distiller) {
  const reports: TelemetryEvent[] = [];
  const clock = { time: 0, now: () => clock.time };
  const telemetry = { report: (event: TelemetryEvent) => void reports.push(event) };
  return { distiller: withFallback(first, fallback, { telemetry, clock }), reports, clock };
}

describe('withFallback', () => {
  it('returns the result of the first distiller', async () => {
    const { distiller, reports } = withReports(createDistiller('Ada and Bo like tea.'));
    expect(await distiller.distil(GROUP, signal)).toMatchObject({ content: 'Ada and Bo like tea.', by: 'model' });
    expect(reports).toEqual([]);
  });

  it('returns and marks the result of the fallback if the first distiller fails', async () => {
    const failure = new DistillerUnavailable('the language model answers no JSON object', { option: 'llmUrl' });
    const { distiller, reports } = withReports(createDistiller(failure));
    expect(await distiller.distil(GROUP, signal)).toEqual({
      ...extract(GROUP),
      replacedDistiller: { name: 'model', because: 'the language model answers no JSON object' },
    });
    const facts = { distiller: 'model', used: 'extractive', message: failure.message, option: 'llmUrl' };
    expect(reports).toEqual([
      { level: 'warn', component: 'consolidation', event: 'distiller_failed', facts, error: failure },
    ]);
  });

  it('returns undefined if the first distiller fails and the sources contradict each other', async () => {
    const { distiller } = withReports(
      createDistiller(new DistillerUnavailable('the language model cannot be reached')),
    );
    const group = getGroup('The backup job runs on Sunday.', 'The backup job does not run on Sunday.');
    expect(await distiller.distil(group, signal)).toBeUndefined();
  });

  it('uses the fallback after an unexpected error, without the error message in the result', async () => {
    const { distiller, reports } = withReports(createDistiller(new TypeError('Ada is undefined')));
    const { by, replacedDistiller } = (await distiller.distil(GROUP, signal)) ?? {};
    expect([by, replacedDistiller]).toEqual(['extractive', { name: 'model', because: 'unexpected error' }]);
    expect(reports).toHaveLength(1);
  });

  it('calls the first distiller for the next group if the failure affected one group', async () => {
    const first = createDistiller(new DistillerUnavailable('refuses a text'), 'said');
    const { distiller } = withReports(first);
    await distiller.distil(GROUP, signal);
    expect(await distiller.distil(GROUP, signal)).toMatchObject({ by: 'model' });
  });

  it('skips the first distiller for a minute after a failure that affects every group', async () => {
    const first = createDistiller(new DistillerUnavailable('cannot be reached', { forAll: true }), 'said');
    const { distiller, reports, clock } = withReports(first);
    await distiller.distil(GROUP, signal);
    clock.time = 59_999;
    expect(await distiller.distil(GROUP, signal)).toMatchObject({
      by: 'extractive',
      replacedDistiller: { because: 'cannot be reached' },
    });
    expect([first.calls, reports.length]).toEqual([1, 1]);
    clock.time = 60_000;
    expect(await distiller.distil(GROUP, signal)).toMatchObject({ by: 'model' });
  });

  it('calls the first distiller again if the clock was set back after a failure', async () => {
    const first = createDistiller(new DistillerUnavailable('cannot be reached', { forAll: true }), 'said');
    const { distiller, clock } = withReports(first);
    await distiller.distil(GROUP, signal);
    clock.time = -3_600_000;
    expect(await distiller.distil(GROUP, signal)).toMatchObject({ by: 'model' });
  });

  it('withFallback does not call the fallback after an abort', async () => {
    const reason = new Error('the run is over');
    const { distiller, reports } = withReports(createDistiller(reason));
    await expect(distiller.distil(GROUP, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(reports).toEqual([]);
  });
});
