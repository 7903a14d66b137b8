import type { StatsResponse } from '@memoryd/contract';
import type { Telemetry } from '@memoryd/engine';
import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type OpenMetricsContentType,
  Registry,
  Summary,
} from 'prom-client';

const WINDOW_SECONDS = 300;
/** The window moves on in steps of its length divided by this. */
const WINDOW_STEPS = 10;
const QUANTILES = [0.5, 0.99];

/** One answered HTTP request. `route` is the pattern that matched, never a caller's text. */
interface RequestObservation {
  method: string;
  route: string;
  status: number;
  durationMs: number;
}

/** What the process has measured about itself, as texts for scrapers. */
export interface Metrics {
  /** Takes the latency of recalls and of their stages from `query_completed` events; passes over all others. */
  telemetry: Telemetry;
  observeRequest(request: RequestObservation): void;
  /** The seven samples of the REST interface, a line each, and nothing else. */
  plain(stats: StatsResponse): Promise<string>;
  /** The same samples typed and described, with those of requests and the process, in OpenMetrics 1.0. */
  openMetrics(stats: StatsResponse): Promise<string>;
}

export const PLAIN_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;
export const OPENMETRICS_CONTENT_TYPE = Registry.OPENMETRICS_CONTENT_TYPE;

/** Samples in the order of the REST interface, around the quantiles of query latency. */
const GAUGES_BEFORE = [
  ['service_working_memory_entries', 'Entries in the working tier.', (stats) => stats.working_count],
  ['service_episodic_memory_entries', 'Entries in the episodic tier.', (stats) => stats.episodic_count],
  ['service_semantic_memory_entries', 'Entries in the semantic tier.', (stats) => stats.semantic_count],
] as const satisfies StatsGauge[];
const GAUGES_AFTER = [
  ['service_consolidation_last_run', 'Time of the last consolidation, Unix seconds; 0 before it.', lastRunSeconds],
  ['service_db_size_bytes', 'Size of the database in bytes.', (stats) => Math.round(stats.db_size_mb * 1e6)],
] as const satisfies StatsGauge[];
const FURTHER_GAUGES = [
  ['service_pending_embeddings', 'Memories that wait for their vectors.', (stats) => stats.pending_embeddings],
  [
    'service_embedded_memories',
    'Memories that do not wait for vectors of the model in use.',
    (stats) => stats.embedding?.embedded ?? 0,
  ],
] as const satisfies StatsGauge[];

type StatsGauge = [name: string, help: string, read: (stats: StatsResponse) => number];

function lastRunSeconds(stats: StatsResponse): number {
  return stats.last_sleep_at === null ? 0 : Date.parse(stats.last_sleep_at) / 1000;
}

export function createMetrics(): Metrics {
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  const registers = [registry];
  const setGauges = [...GAUGES_BEFORE, ...GAUGES_AFTER, ...FURTHER_GAUGES].map(([name, help, read]) => {
    const gauge = new Gauge({ name, help, registers });
    return (stats: StatsResponse) => gauge.set(read(stats));
  });
  const queryLatency = new Summary({
    name: 'service_query_latency_ms',
    help: 'Latency of recalls over the last five minutes, milliseconds.',
    percentiles: QUANTILES,
    maxAgeSeconds: WINDOW_SECONDS,
    ageBuckets: WINDOW_STEPS,
    registers,
  });
  const observeStages = stageMetrics(registers);
  const observeRequest = requestMetrics(registers);
  collectDefaultMetrics({ register: registry, prefix: 'service_' });

  return {
    telemetry: {
      report({ event, facts }) {
        if (event !== 'query_completed' || !facts) return;
        if (isDuration(facts.latency_ms)) queryLatency.observe(facts.latency_ms);
        observeStages(facts);
      },
    },
    observeRequest,
    async plain(stats) {
      const { values } = await queryLatency.get();
      const quantiles = values.filter(({ labels }) => labels.quantile !== undefined);
      return [
        ...GAUGES_BEFORE.map(([name, , read]) => `${name} ${read(stats)}\n`),
        ...quantiles.map(({ labels, value }) => `service_query_latency_ms{quantile="${labels.quantile}"} ${value}\n`),
        ...GAUGES_AFTER.map(([name, , read]) => `${name} ${read(stats)}\n`),
      ].join('');
    },
    openMetrics(stats) {
      for (const set of setGauges) set(stats);
      return registry.metrics();
    },
  };
}

const RECALL_STAGES = ['embed', 'words', 'vectors', 'fuse', 'read'];

function stageMetrics(registers: Registry<OpenMetricsContentType>[]): (facts: Record<string, unknown>) => void {
  const durations = new Histogram({
    name: 'service_recall_stage_duration_seconds',
    help: 'Time that a recall spent in a stage, seconds.',
    labelNames: ['stage'],
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
    registers,
  });
  return (facts) => {
    for (const stage of RECALL_STAGES) {
      const ms = facts[`${stage}_ms`];
      if (isDuration(ms)) durations.observe({ stage }, ms / 1000);
    }
  };
}

function isDuration(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function requestMetrics(registers: Registry<OpenMetricsContentType>[]): Metrics['observeRequest'] {
  const requests = new Counter({
    name: 'service_http_requests_total',
    help: 'Answered HTTP requests.',
    labelNames: ['method', 'route', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'service_http_request_duration_seconds',
    help: 'Time from the arrival of an HTTP request to the end of its answer, seconds.',
    labelNames: ['method', 'route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  return ({ method, route, status, durationMs }) => {
    requests.inc({ method, route, status });
    durations.observe({ method, route }, durationMs / 1000);
  };
}
