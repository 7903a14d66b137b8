import { stripVTControlCharacters } from 'node:util';
import type { TelemetryEvent } from '@memoryd/engine';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { logTelemetry } from './log.ts';
import { createReadableLog } from './log-lines.ts';

function getText(event: Partial<TelemetryEvent>): string {
  let written = '';
  const output = createReadableLog({ write: (text) => (written += text) });
  const log = logTelemetry({ logLevel: 'debug', logQueries: true }, output);
  log.report({ level: 'info', component: 'server', event: 'something_happened', ...event });
  return stripVTControlCharacters(written);
}

describe('a log line on a terminal', () => {
  it('a log line on a terminal has the local time, the event and its fields', () => {
    const facts = { latency_ms: 1.5, words_ms: 1, key_id: null, results_count: 2, query: 'who is Ada' };
    expect(getText({ event: 'query_completed', facts })).toMatch(
      /^\d\d:\d\d:\d\d query completed latency_ms=1\.5 results_count=2 query="who is Ada"\n$/,
    );
  });

  it('names every level except INFO, and shows the message', () => {
    const facts = { message: 'set SERVICE_CORS_ORIGINS' };
    expect(getText({ level: 'warn', event: 'any_origin_allowed', facts })).toMatch(
      /^\S+ WARN any origin allowed: set SERVICE_CORS_ORIGINS\n$/,
    );
  });

  it('shows the message and the stack of an error', () => {
    const text = getText({ level: 'error', event: 'write_failed', error: new Error('disk full') });
    expect(text).toMatch(/^\S+ ERROR write failed: disk full\n {4}at .*\n/);
  });

  it('a log line on a terminal is one line without control characters, regardless of its values', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (message, query) => {
        const line = getText({ facts: { message, query } });
        // biome-ignore lint/suspicious/noControlCharactersInRegex: the line must not contain them
        expect(line).toMatch(/^[^\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]*\n$/);
      }),
    );
  });
});
