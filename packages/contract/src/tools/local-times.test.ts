import { expect, it } from 'vitest';
import { Memory } from '../memory.ts';
import { createTimeZone } from '../time-zone.ts';
import { toLocalTimes, toZonedTime } from './local-times.ts';
import { TOOLS } from './tools.ts';

it('only the times of a result are shown in the zone, and every other text is unchanged', () => {
  const time = '2026-11-28T04:30:00.000Z';
  const local = '2026-11-27T20:30:00.000-08:00';
  const zone = createTimeZone('America/Los_Angeles');
  const { memory_recall: recall, memory_session: session, memory_stats: stats } = TOOLS;
  const labels = { id: time, content: time, tags: [time] };

  const result = { ...labels, score: 1, session_id: time, created_at: time, superseded_by: time, highlight: time };
  expect(toLocalTimes(recall.output, { results: [result], total: 1 }, zone)).toEqual({
    results: [{ ...result, created_at: local }],
    total: 1,
  });
  const page = { session_id: time, memories: [{ ...labels, created_at: time }], total: 2, next_cursor: time };
  const memories = [{ ...labels, created_at: local }];
  expect(toLocalTimes(session.output, page, zone)).toEqual({ ...page, memories });
  expect(toLocalTimes(stats.output, { last_sleep_at: time }, zone)).toEqual({ last_sleep_at: local });
  expect(toLocalTimes(stats.output, { last_sleep_at: null }, zone)).toEqual({ last_sleep_at: null });
  const memory = { ...labels, metadata: { created_at: time, list: [time] }, expires_at: time, updated_at: time };
  expect(toLocalTimes(Memory, memory, zone)).toEqual({ ...memory, expires_at: local, updated_at: local });
});

it.each([
  ['2026-11-27', 'first', '2026-11-27T00:00-08:00'],
  ['2026-11-27', 'last', '2026-11-27T23:59:59.999-08:00'],
  ['2026-11-27 20:30', 'last', '2026-11-27T20:30-08:00'],
  ['2026-07-01T20:30:15,5', 'first', '2026-07-01T20:30:15.5-07:00'],
  // The clocks change at 02:00 local time, which is 10:00 and 09:00 in UTC.
  ['2026-03-08T01:30', 'first', '2026-03-08T01:30-08:00'],
  ['2026-03-08T03:30', 'first', '2026-03-08T03:30-07:00'],
  ['2026-11-01T03:30', 'first', '2026-11-01T03:30-08:00'],
  ['2026-11-27T20:30Z', 'first', '2026-11-27T20:30Z'],
  ['2026-11-27T20:30+01:00', 'first', '2026-11-27T20:30+01:00'],
  ['yesterday', 'first', 'yesterday'],
] as const)('%j of a model (%s) is read in the zone of the user, as %j', (text, edge, time) => {
  expect(toZonedTime(text, createTimeZone('America/Los_Angeles'), edge)).toBe(time);
});
