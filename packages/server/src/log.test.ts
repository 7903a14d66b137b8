import type { TelemetryEvent } from '@memoryd/engine';
import { describe, expect, it } from 'vitest';
import { logTelemetry } from './log.ts';

const recall: TelemetryEvent = {
  level: 'info',
  component: 'retrieval',
  event: 'query_completed',
  facts: { latency_ms: 1.5, results_count: 2, query: 'line\nbreak "quoted"' },
};

function getLines(events: TelemetryEvent[], settings: Partial<Parameters<typeof logTelemetry>[0]> = {}): string[] {
  let written = '';
  const log = logTelemetry({ logLevel: 'info', logQueries: true, ...settings }, { write: (text) => (written += text) });
  for (const event of events) log.report(event);
  return written.split('\n').slice(0, -1);
}

describe('a log record', () => {
  it('a log record is one line of JSON with the documented fields', () => {
    const [line, ...more] = getLines([recall]);
    expect(more).toEqual([]);
    const { timestamp, ...record } = JSON.parse(line ?? '');
    expect(new Date(timestamp).toISOString()).toBe(timestamp);
    expect(record).toEqual({
      level: 'INFO',
      component: 'retrieval',
      event: 'query_completed',
      latency_ms: 1.5,
      results_count: 2,
      query: 'line\nbreak "quoted"',
    });
  });

  it('omits the query if logQueries is off', () => {
    const [line = ''] = getLines([recall], { logQueries: false });
    expect(JSON.parse(line)).not.toHaveProperty('query');
    expect(JSON.parse(line)).toHaveProperty('latency_ms', 1.5);
  });

  it('a log record is not written below the minimum level', () => {
    expect(getLines([recall], { logLevel: 'warn' })).toEqual([]);
    expect(getLines([{ ...recall, level: 'error' }], { logLevel: 'warn' })).toHaveLength(1);
  });

  it('names a setting by its environment variable', () => {
    const facts = { option: 'embeddingApiKey' };
    const [line = ''] = getLines([{ level: 'error', component: 'embedding', event: 'embedder_unavailable', facts }]);
    const { timestamp, ...record } = JSON.parse(line);
    expect(record).toEqual({
      level: 'ERROR',
      component: 'embedding',
      event: 'embedder_unavailable',
      setting: 'SERVICE_EMBEDDING_API_KEY',
    });
  });

  it('contains the error and its cause', () => {
    const error = new Error('disk full', { cause: new Error('ENOSPC') });
    const [line = ''] = getLines([{ level: 'error', component: 'storage', event: 'write_failed', error }]);
    expect(JSON.parse(line)).toMatchObject({
      level: 'ERROR',
      error: { message: 'disk full', cause: { message: 'ENOSPC' } },
    });
  });
});
