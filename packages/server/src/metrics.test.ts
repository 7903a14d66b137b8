import type { StatsResponse } from '@memoryd/contract';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createMetrics, type Metrics } from './metrics.ts';

const STATS: StatsResponse = {
  working_count: 1,
  episodic_count: 2,
  semantic_count: 3,
  db_size_mb: 0.028672,
  last_sleep_at: '2026-01-31T09:30:00.000Z',
  pending_embeddings: 4,
  embedding: { model: 'a model', embedded: 2, total: 6 },
};

let metrics: Metrics;
const completeQuery = (latencyMs: number) =>
  metrics.telemetry.report({
    level: 'info',
    component: 'retrieval',
    event: 'query_completed',
    facts: { latency_ms: latencyMs },
  });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
  metrics = createMetrics();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the stages of a recall', () => {
  it('are told as histograms in OpenMetrics', async () => {
    metrics.telemetry.report({
      level: 'info',
      component: 'retrieval',
      event: 'query_completed',
      facts: { latency_ms: 9, embed_ms: 4, words_ms: 2, vectors_ms: 1.5, fuse_ms: 1, read_ms: 0.2 },
    });
    const text = await metrics.openMetrics(STATS);
    for (const [stage, seconds] of Object.entries({ embed: 0.004, words: 0.002, vectors: 0.0015, fuse: 0.001 })) {
      expect(text).toContain(`service_recall_stage_duration_seconds_sum{stage="${stage}"} ${seconds}\n`);
    }
    expect(text).toContain('service_recall_stage_duration_seconds_bucket{le="0.00025",stage="read"} 1\n');
  });
});

describe('the plain metrics', () => {
  it('are exactly the seven lines of the interface', async () => {
    completeQuery(20);
    expect(await metrics.plain(STATS)).toBe(
      [
        'service_working_memory_entries 1',
        'service_episodic_memory_entries 2',
        'service_semantic_memory_entries 3',
        'service_query_latency_ms{quantile="0.5"} 20',
        'service_query_latency_ms{quantile="0.99"} 20',
        'service_consolidation_last_run 1769851800',
        'service_db_size_bytes 28672',
        '',
      ].join('\n'),
    );
  });

  it('are zero before the first query and the first consolidation', async () => {
    const text = await metrics.plain({ ...STATS, last_sleep_at: null });
    expect(text).toContain('service_query_latency_ms{quantile="0.5"} 0\n');
    expect(text).toContain('service_query_latency_ms{quantile="0.99"} 0\n');
    expect(text).toContain('service_consolidation_last_run 0\n');
  });

  it('tell the slowest of a hundred queries from the median', async () => {
    for (let latencyMs = 1; latencyMs <= 100; latencyMs += 1) completeQuery(latencyMs);
    const [median, slowest] = [...(await metrics.plain(STATS)).matchAll(/quantile="[0-9.]+"} ([0-9.]+)/g)];
    expect(Number(median?.[1])).toBeCloseTo(50, -1);
    expect(Number(slowest?.[1])).toBeGreaterThanOrEqual(98);
  });

  it('forget latencies after five minutes, so that alerts clear', async () => {
    completeQuery(900);
    vi.setSystemTime(Date.now() + 4 * 60_000);
    expect(await metrics.plain(STATS)).toContain('{quantile="0.99"} 900');
    vi.setSystemTime(Date.now() + 61_000);
    expect(await metrics.plain(STATS)).toContain('{quantile="0.99"} 0\n');
    completeQuery(5);
    expect(await metrics.plain(STATS)).toContain('{quantile="0.99"} 5\n');
  });
});

describe('the OpenMetrics text', () => {
  it('holds the same samples, typed and described, and ends as it must', async () => {
    completeQuery(20);
    const text = await metrics.openMetrics(STATS);
    for (const line of (await metrics.plain(STATS)).trimEnd().split('\n')) expect(text).toContain(`\n${line}\n`);
    expect(text).toContain('# TYPE service_working_memory_entries gauge\n');
    expect(text).toContain('# TYPE service_query_latency_ms summary\n');
    expect(text.endsWith('\n# EOF\n')).toBe(true);
  });

  it('tells how far memories are embedded, and that none are before any model was used', async () => {
    expect(await metrics.openMetrics(STATS)).toContain('\nservice_embedded_memories 2\n');
    const { embedding, ...without } = STATS;
    expect(await metrics.openMetrics(without)).toContain('\nservice_embedded_memories 0\n');
  });

  it('counts requests by route', async () => {
    metrics.observeRequest({ method: 'GET', route: '/recall', status: 200, durationMs: 3 });
    metrics.observeRequest({ method: 'GET', route: '/recall', status: 200, durationMs: 4 });
    expect(await metrics.openMetrics(STATS)).toContain(
      'service_http_requests_total{method="GET",route="/recall",status="200"} 2\n',
    );
  });

  it('gives every sample the prefix of the service', async () => {
    const samples = (await metrics.openMetrics(STATS))
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(samples.filter((line) => !line.startsWith('service_'))).toEqual([]);
  });
});
