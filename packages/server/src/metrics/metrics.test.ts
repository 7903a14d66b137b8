import { ERRORS, type StatsResponse } from '@memoryd/contract';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { VERSION } from '../version.ts';
import type { Readings } from './gauges.ts';
import { createMetrics, type Metrics } from './metrics.ts';

const STATS: StatsResponse = {
  working_count: 1,
  episodic_count: 2,
  semantic_count: 3,
  current_count: 4,
  superseded_count: 2,
  ended_count: 1,
  db_size_mb: 0.028672,
  last_sleep_at: '2026-01-31T09:30:00.000Z',
  pending_embeddings: 4,
  embedding: { model: 'a model', embedded: 2, total: 6 },
};

const READINGS: Readings = {
  stats: STATS,
  fullestWorkingCount: 1,
  embedder: 'unavailable',
  reranker: 'off',
  isHealthy: true,
  condition: { diskFreeBytes: 7e9, diskSizeBytes: 9e9, backedUpAt: 1_700_000_000_000 },
  settings: { workingMax: 10_000, consolidationIntervalSeconds: 3600, dbSizeAlertMb: 5000 },
  load: {
    pendingRequests: 5,
    heavyWork: { copy: { running: 2, waiting: 7 } },
    eventStreams: 3,
    connections: { open: 9, idle: 4 },
    maxResidentBytes: 3e9,
  },
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
  it('the stages of a recall are reported as histograms in OpenMetrics', async () => {
    metrics.telemetry.report({
      level: 'info',
      component: 'retrieval',
      event: 'query_completed',
      facts: { latency_ms: 9, embed_ms: 4, words_ms: 2, vectors_ms: 1.5, fuse_ms: 1, read_ms: 0.2 },
    });
    const text = await metrics.openMetrics(READINGS);
    for (const [stage, seconds] of Object.entries({ embed: 0.004, words: 0.002, vectors: 0.0015, fuse: 0.001 })) {
      expect(text).toContain(`service_recall_stage_duration_seconds_sum{stage="${stage}"} ${seconds}\n`);
    }
    expect(text).toContain('service_recall_stage_duration_seconds_bucket{le="0.00025",stage="read"} 1\n');
  });
});

describe('the plain metrics', () => {
  it('the plain metrics are exactly the seven documented lines', async () => {
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

  it('the plain metrics are zero before the first query and the first consolidation', async () => {
    const text = await metrics.plain({ ...STATS, last_sleep_at: null });
    expect(text).toContain('service_query_latency_ms{quantile="0.5"} 0\n');
    expect(text).toContain('service_query_latency_ms{quantile="0.99"} 0\n');
    expect(text).toContain('service_consolidation_last_run 0\n');
  });

  it('the plain metrics distinguish the slowest of a hundred queries from the median', async () => {
    for (let latencyMs = 1; latencyMs <= 100; latencyMs += 1) completeQuery(latencyMs);
    const [median, slowest] = [...(await metrics.plain(STATS)).matchAll(/quantile="[0-9.]+"} ([0-9.]+)/g)];
    expect(Number(median?.[1])).toBeCloseTo(50, -1);
    expect(Number(slowest?.[1])).toBeGreaterThanOrEqual(98);
  });

  it('the plain metrics drop latencies after five minutes, so that alerts clear', async () => {
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
  it('contains all samples of the plain metrics, with types and descriptions, and ends with # EOF', async () => {
    completeQuery(20);
    const text = await metrics.openMetrics(READINGS);
    for (const line of (await metrics.plain(STATS)).trimEnd().split('\n')) expect(text).toContain(`\n${line}\n`);
    expect(text).toContain('# TYPE service_working_memory_entries gauge\n');
    expect(text).toContain('# TYPE service_query_latency_ms summary\n');
    expect(text.endsWith('\n# EOF\n')).toBe(true);
  });

  it('reports the number of embedded memories, and 0 before any model was used', async () => {
    expect(await metrics.openMetrics(READINGS)).toContain('\nservice_embedded_memories 2\n');
    const { embedding, ...without } = STATS;
    expect(await metrics.openMetrics({ ...READINGS, stats: without })).toContain('\nservice_embedded_memories 0\n');
  });

  it('reports the durations of requests by route and status', async () => {
    metrics.observeRequest({ method: 'GET', route: '/recall', status: 200, durationMs: 3 });
    metrics.observeRequest({ method: 'GET', route: '/recall', status: 200, durationMs: 4 });
    metrics.observeRequest({ method: 'GET', route: '/recall', status: 503, durationMs: 1 });
    const text = await metrics.openMetrics(READINGS);
    const labels = 'method="GET",route="/recall"';
    expect(text).toContain(`service_http_request_duration_seconds_bucket{le="0.0025",${labels},status="200"} 0\n`);
    expect(text).toContain(`service_http_request_duration_seconds_bucket{le="0.005",${labels},status="200"} 2\n`);
    expect(text).toContain(`service_http_request_duration_seconds_count{${labels},status="503"} 1\n`);
  });

  it('counts errors by code, including codes without errors', async () => {
    metrics.countError('RATE_LIMITED');
    const text = await metrics.openMetrics(READINGS);
    const codes = [...text.matchAll(/^service_errors_total\{code="(\w+)"\} (\d)$/gm)].map(([, code, count]) => [
      code,
      count,
    ]);
    expect(Object.fromEntries(codes)).toEqual({
      ...Object.fromEntries(Object.keys(ERRORS).map((code) => [code, '0'])),
      RATE_LIMITED: '1',
    });
  });

  it('reports the load of the process and its settings', async () => {
    const text = await metrics.openMetrics(READINGS);
    for (const sample of [
      'service_working_memory_fullest_entries 1',
      'service_working_memory_max_entries 10000',
      'service_consolidation_interval_seconds 3600',
      'service_current_memories 4',
      'service_superseded_memories 2',
      'service_ended_memories 1',
      'service_pending_embeddings 4',
      'service_event_streams 3',
      'service_http_requests_under_way 5',
      'service_heavy_requests_running{kind="copy"} 2',
      'service_heavy_requests_waiting{kind="copy"} 7',
      'service_embedder_state{state="ready"} 0',
      'service_embedder_state{state="unavailable"} 1',
      `service_build_info{version="${VERSION}"} 1`,
    ]) {
      expect(text).toContain(`\n${sample}\n`);
    }
  });

  it('counts consolidation runs by outcome, and the changes of completed runs', async () => {
    const end = (event: string, facts = {}) =>
      metrics.telemetry.report({ level: 'info', component: 'consolidation', event, facts });
    end('consolidation_completed', { latency_ms: 200, consolidated_count: 5, evicted_count: 2 });
    end('consolidation_completed', { latency_ms: 300, consolidated_count: 1, evicted_count: 0 });
    end('consolidation_reverted', { latency_ms: 9000, consolidated_count: 100, evicted_count: 100 });
    end('consolidation_failed');
    const text = await metrics.openMetrics(READINGS);
    for (const sample of [
      'service_consolidations_total{outcome="completed"} 2',
      'service_consolidations_total{outcome="reverted"} 1',
      'service_consolidations_total{outcome="undone"} 0',
      'service_consolidations_total{outcome="failed"} 1',
      'service_consolidation_duration_seconds_sum 0.5',
      'service_consolidated_memories_total 6',
      'service_evicted_memories_total 2',
    ]) {
      expect(text).toContain(`\n${sample}\n`);
    }
  });

  it('gives every sample the prefix service_', async () => {
    const samples = (await metrics.openMetrics(READINGS))
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(samples.filter((line) => !line.startsWith('service_'))).toEqual([]);
  });
});
