import { describe, expect, it } from 'vitest';
import { HookActivity } from './activity.ts';

const ADA = { namespace: 'default', userId: 'ada' };
const BEN = { namespace: 'default', userId: 'ben' };
const NOON = Date.UTC(2026, 10, 29, 12);
const HOUR_MS = 3_600_000;

describe('hook activity', () => {
  it('hook activity counts the calls of each owner and program separately', () => {
    const activity = new HookActivity();
    activity.record(ADA, 'codex', { at: NOON, durationMs: 10, stored: true, redacted: 2, given: 3 });
    activity.record(ADA, 'codex', { at: NOON + 1, durationMs: 30, given: 1 });
    activity.record(ADA, 'claude-code', { at: NOON, durationMs: 5 });
    activity.record({ ...ADA, namespace: 'other' }, 'cursor', { at: NOON, durationMs: 5 });
    expect(activity.get(BEN, NOON)).toEqual([]);
    expect(activity.get(ADA, NOON)).toEqual([
      expect.objectContaining({ program: 'claude-code', calls_today: 1, stored_today: 0 }),
      {
        program: 'codex',
        last_call_at: '2026-11-29T12:00:00.001Z',
        calls_today: 2,
        stored_today: 1,
        redacted_today: 2,
        given_today: 4,
        p50_ms: 10,
        p99_ms: 30,
        last_error: null,
      },
    ]);
  });

  it('hook activity counts only calls since midnight UTC, and keeps the last call and the last error', () => {
    const activity = new HookActivity();
    activity.record(ADA, 'codex', { at: NOON, durationMs: 301, error: 'the deadline of 300 ms passed' });
    const tomorrow = NOON + 12 * HOUR_MS;
    const counts = { calls_today: 0, stored_today: 0, redacted_today: 0, given_today: 0 };
    expect(activity.get(ADA, tomorrow - 1)).toMatchObject([{ ...counts, calls_today: 1 }]);
    const last_error = { at: '2026-11-29T12:00:00.000Z', message: 'the deadline of 300 ms passed' };
    expect(activity.get(ADA, tomorrow)).toMatchObject([{ ...counts, last_call_at: last_error.at, last_error }]);
    activity.record(ADA, 'codex', { at: tomorrow, durationMs: 1, stored: true });
    expect(activity.get(ADA, tomorrow)).toMatchObject([{ ...counts, calls_today: 1, stored_today: 1, last_error }]);
  });

  it('hook activity has the percentiles of the last 200 calls', () => {
    const activity = new HookActivity();
    for (let i = 0; i < 50; i++) activity.record(ADA, 'codex', { at: NOON, durationMs: 10_000 });
    for (let i = 1; i <= 200; i++) activity.record(ADA, 'codex', { at: NOON, durationMs: i });
    expect(activity.get(ADA, NOON)).toMatchObject([{ calls_today: 250, p50_ms: 100, p99_ms: 198 }]);
  });

  it('hook activity drops the oldest owner of the namespace with the most owners at its limit', () => {
    const activity = new HookActivity(3);
    const call = { at: NOON, durationMs: 1 };
    const small = { namespace: 'small', userId: '' };
    activity.record(small, 'codex', call);
    for (const userId of ['ada', 'ben', 'ada', 'cleo']) activity.record({ ...ADA, userId }, 'codex', call);
    expect(activity.get(small, NOON)).toHaveLength(1);
    expect(activity.get(ADA, NOON)).toMatchObject([{ calls_today: 2 }]);
    expect(activity.get(BEN, NOON)).toEqual([]);
  });
});
