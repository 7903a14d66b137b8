import type { MemoryApi, StatsPeriod } from '@memoryd/contract';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createMetricsHistory, type MetricsHistory } from './history.ts';

const MINUTE_MS = 60_000;
const START = Date.parse('2026-11-30T12:02:00Z');

let history: MetricsHistory;
const recall = (latency_ms: number) =>
  history.observe({ level: 'info', component: 'retrieval', event: 'query_completed', facts: { latency_ms } });
const wait = (minutes: number) => vi.setSystemTime(Date.now() + minutes * MINUTE_MS);
const toTimes = (periods: StatsPeriod[]) => periods.map(({ at }) => at.slice(11, 16));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: START });
  history = createMetricsHistory();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the history of the metrics', () => {
  it('begins with the period of the start, without recalls and latencies', () => {
    const nothing = { recalls: 0, stores: 0, errors: 0, p50_ms: null, p99_ms: null };
    expect(history.read()).toEqual([{ at: '2026-11-30T12:00:00.000Z', ...nothing }]);
  });

  it('keeps the counts and latencies of each period of five minutes, without gaps', () => {
    for (let i = 1; i <= 100; i++) recall(i);
    history.countError();
    wait(11);
    recall(0.25);
    const periods = history.read();
    expect(toTimes(periods)).toEqual(['12:00', '12:05', '12:10']);
    expect(periods.map(({ recalls, errors }) => [recalls, errors])).toEqual([
      [100, 1],
      [0, 0],
      [1, 0],
    ]);
    expect(periods[0]?.p50_ms).toBeCloseTo(50, 0);
    expect(periods[0]?.p99_ms).toBeCloseTo(99, 0);
    expect(periods[1]?.p99_ms).toBeNull();
    expect(periods[2]?.p50_ms).toBeCloseTo(0.25, 2);
  });

  it('returns the last 24 hours, also after a pause of days', () => {
    recall(1);
    wait(24 * 60 - 5);
    expect(history.read()).toHaveLength(288);
    expect(history.read()[0]?.recalls).toBe(1);
    wait(5);
    expect(history.read()).toHaveLength(288);
    expect(history.read()[0]?.recalls).toBe(0);
    wait(3 * 24 * 60);
    const periods = history.read();
    expect(periods).toHaveLength(288);
    expect(periods.at(-1)?.at).toBe('2026-12-04T12:00:00.000Z');
  });

  it('counts on in the same period if the clock is set back', () => {
    recall(1);
    wait(-30);
    recall(1);
    expect(history.read()).toMatchObject([{ recalls: 2 }]);
  });

  it('counts stored memories once they are stored, and none of a store that fails', async () => {
    const api = history.countStores({
      store: vi.fn().mockResolvedValueOnce({}).mockRejectedValueOnce(new Error('full')),
      storeBatch: async () => ({ stored_count: 3 }),
    } as unknown as MemoryApi);
    await api.store({ content: 'a' });
    await expect(api.store({ content: 'b' })).rejects.toThrow('full');
    await api.storeBatch([]);
    expect(history.read()).toMatchObject([{ stores: 4 }]);
  });
});
