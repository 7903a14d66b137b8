import type { HooksResponse } from '@memoryd/contract';
import { expect, it } from 'vitest';
import { formatServiceActivity } from './service-activity.ts';

const NOW = Date.parse('2026-11-29T12:00:00Z');
const QUIET = { calls_today: 1, stored_today: 0, redacted_today: 0, given_today: 0, p50_ms: 4, p99_ms: 4 };

it('formats the activity of hooks with settings, counts of the day and the last error of each program', () => {
  const hooks: HooksResponse = {
    paused: true,
    ignored_folders: ['/home/ada/private'],
    programs: [
      { program: 'claude-code', ...QUIET, last_call_at: '2026-11-29T11:59:30Z', last_error: null },
      {
        ...{ program: 'codex', last_call_at: '2026-11-29T09:30:00Z', p50_ms: 12.5, p99_ms: 80 },
        ...{ calls_today: 20, stored_today: 12, redacted_today: 1, given_today: 30 },
        last_error: { at: '2026-11-26T12:00:00Z', message: 'the database has not answered for 2 s' },
      },
    ],
  };
  expect(formatServiceActivity(hooks, NOW)).toEqual([
    'the hooks are paused: they store and give nothing; `memoryd connect --resume` resumes them',
    'the hooks ignore the folder /home/ada/private',
    'claude-code: last call just now; today 1 call, 0 stored, 0 given; p50 4 ms, p99 4 ms',
    'codex: last call 2 hours ago; today 20 calls, 12 stored, 30 given, 1 secret removed; p50 12.5 ms, p99 80 ms',
    'codex: last error 3 days ago: the database has not answered for 2 s',
  ]);
});
