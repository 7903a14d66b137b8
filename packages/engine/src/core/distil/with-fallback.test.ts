import { describe, expect, it } from 'vitest';
import { getGroup } from '../../ports/distiller.contract.ts';
import { type Distiller, DistillerUnavailable } from '../../ports/distiller.ts';
import type { TelemetryEvent } from '../../ports/runtime.ts';
import { extract } from './extract.ts';
import { withFallback } from './with-fallback.ts';

const GROUP = getGroup('Ada likes tea.', 'Ada likes tea. Bo too.');
const { signal } = new AbortController();

const quoting: Distiller = { name: 'extractive', quotes: true, distil: async (group) => extract(group) };

/** A distiller that says what a list says, one entry a call: a text, or an error. */
function saying(...replies: (string | Error)[]): Distiller & { calls: number } {
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
  return { distiller: withFallback(first, quoting, { telemetry, clock }), reports, clock };
}

describe('a distiller with another behind it', () => {
  it('answers what the first says', async () => {
    const { distiller, reports } = withReports(saying('Ada and Bo like tea.'));
    expect(await distiller.distil(GROUP, signal)).toMatchObject({ content: 'Ada and Bo like tea.', by: 'model' });
    expect(reports).toEqual([]);
  });

  it('answers what the other says where the first fails, and says so', async () => {
    const failure = new DistillerUnavailable('the language model answers no JSON object', { option: 'llmUrl' });
    const { distiller, reports } = withReports(saying(failure));
    expect(await distiller.distil(GROUP, signal)).toEqual({
      ...extract(GROUP),
      replacedDistiller: { name: 'model', because: 'the language model answers no JSON object' },
    });
    const facts = { distiller: 'model', used: 'extractive', message: failure.message, option: 'llmUrl' };
    expect(reports).toEqual([
      { level: 'warn', component: 'consolidation', event: 'distiller_failed', facts, error: failure },
    ]);
  });

  it('makes nothing of a group that must not be quoted side by side', async () => {
    const { distiller } = withReports(saying(new DistillerUnavailable('the language model cannot be reached')));
    const group = getGroup('The backup job runs on Sunday.', 'The backup job does not run on Sunday.');
    expect(await distiller.distil(group, signal)).toBeUndefined();
  });

  it('does so for a defect too, of which only the log tells more', async () => {
    const { distiller, reports } = withReports(saying(new TypeError('Ada is undefined')));
    const { by, replacedDistiller } = (await distiller.distil(GROUP, signal)) ?? {};
    expect([by, replacedDistiller]).toEqual(['extractive', { name: 'model', because: 'failed by a defect' }]);
    expect(reports).toHaveLength(1);
  });

  it('asks the first again for the next group where the fault was of one group', async () => {
    const first = saying(new DistillerUnavailable('refuses a text'), 'said');
    const { distiller } = withReports(first);
    await distiller.distil(GROUP, signal);
    expect(await distiller.distil(GROUP, signal)).toMatchObject({ by: 'model' });
  });

  it('lets the first rest for a minute where it fails for all, and then asks it again', async () => {
    const first = saying(new DistillerUnavailable('cannot be reached', { forAll: true }), 'said');
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

  it('asks the first again when the clock has been set back', async () => {
    const first = saying(new DistillerUnavailable('cannot be reached', { forAll: true }), 'said');
    const { distiller, clock } = withReports(first);
    await distiller.distil(GROUP, signal);
    clock.time = -3_600_000;
    expect(await distiller.distil(GROUP, signal)).toMatchObject({ by: 'model' });
  });

  it('asks nobody else for who has given up', async () => {
    const reason = new Error('the run is over');
    const { distiller, reports } = withReports(saying(reason));
    await expect(distiller.distil(GROUP, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(reports).toEqual([]);
  });
});
