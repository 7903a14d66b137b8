import type { EmbedderState, StatsResponse } from '@memoryd/contract';
import type { FairQueue, RerankerHealth, StorageCondition } from '@memoryd/engine';
import { Gauge } from 'prom-client';
import type { Settings } from '../settings/read.ts';
import { VERSION } from '../version.ts';
import type { Registers } from './registers.ts';

/** Values that are read for each scrape. */
export interface Readings {
  /** Statistics of all namespaces together. */
  stats: StatsResponse;
  /** Number of working memories of the namespace that has the most. */
  fullestWorkingCount: number;
  embedder: EmbedderState;
  reranker: RerankerHealth['state'];
  isHealthy: boolean;
  condition: StorageCondition;
  settings: Pick<Settings, 'workingMax' | 'consolidationIntervalSeconds' | 'dbSizeAlertMb'>;
  load: Load;
}

/** The current load of the process. */
interface Load {
  pendingRequests: number;
  /** Queues of heavy work, by kind. */
  heavyWork: Readonly<Record<string, Pick<FairQueue, 'running' | 'waiting'>>>;
  eventStreams: number;
  connections: ConnectionCount;
  /** Resident memory, in bytes, above which requests are refused. */
  maxResidentBytes: number;
}

/** Number of open connections, and number of idle connections, which have no pending request. */
export interface ConnectionCount {
  open: number;
  idle: number;
}

/** The gauges before the quantiles of query latency in the plain text format, in order. */
export const GAUGES_BEFORE = [
  ['service_working_memory_entries', 'Entries in the working tier.', (stats) => stats.working_count],
  ['service_episodic_memory_entries', 'Entries in the episodic tier.', (stats) => stats.episodic_count],
  ['service_semantic_memory_entries', 'Entries in the semantic tier.', (stats) => stats.semantic_count],
] as const satisfies GaugeDefinition<StatsResponse>[];
/** The gauges after the quantiles of query latency in the plain text format, in order. */
export const GAUGES_AFTER = [
  [
    'service_consolidation_last_run',
    'Time of the last consolidation as Unix time in seconds; 0 before the first.',
    lastRunSeconds,
  ],
  ['service_db_size_bytes', 'Size of the database in bytes.', (stats) => Math.round(stats.db_size_mb * 1e6)],
] as const satisfies GaugeDefinition<StatsResponse>[];

const FURTHER_GAUGES = [
  [
    'service_working_memory_fullest_entries',
    'Entries in the working tier of the namespace that has the most.',
    ({ fullestWorkingCount }) => fullestWorkingCount,
  ],
  [
    'service_working_memory_max_entries',
    'Maximum number of entries in the working tier of one namespace.',
    ({ settings }) => settings.workingMax,
  ],
  [
    'service_consolidation_interval_seconds',
    'Interval between automatic consolidations; 0 if they are turned off.',
    ({ settings }) => settings.consolidationIntervalSeconds,
  ],
  ['service_current_memories', 'Memories that hold now.', ({ stats }) => stats.current_count],
  ['service_superseded_memories', 'Memories that another memory replaces.', ({ stats }) => stats.superseded_count],
  ['service_ended_memories', 'Memories whose valid_to has passed.', ({ stats }) => stats.ended_count],
  ['service_pending_embeddings', 'Memories whose vectors are pending.', ({ stats }) => stats.pending_embeddings],
  [
    'service_embedded_memories',
    'Memories without pending vectors of the current model.',
    ({ stats }) => stats.embedding?.embedded ?? 0,
  ],
  ['service_event_streams', 'Open event streams.', ({ load }) => load.eventStreams],
  ['service_healthy', '1 while /health reports the service as healthy, else 0.', ({ isHealthy }) => Number(isHealthy)],
  [
    'service_db_size_alert_bytes',
    'Database size above which an alert should fire.',
    ({ settings }) => settings.dbSizeAlertMb * 1e6,
  ],
  [
    'service_memory_limit_bytes',
    'Resident memory above which requests are refused.',
    ({ load }) => load.maxResidentBytes,
  ],
  [
    'service_disk_free_bytes',
    'Free space on the disk of a database file; NaN on PostgreSQL.',
    ({ condition }) => condition.diskFreeBytes ?? Number.NaN,
  ],
  [
    'service_disk_size_bytes',
    'Size of the disk of a database file; NaN on PostgreSQL.',
    ({ condition }) => condition.diskSizeBytes ?? Number.NaN,
  ],
  [
    'service_backup_last_time_seconds',
    'Time of the last backup of the database file by memoryd as Unix time in seconds; 0 before the first, NaN on PostgreSQL.',
    ({ condition: { backedUpAt } }) => (backedUpAt === undefined ? Number.NaN : (backedUpAt ?? 0) / 1000),
  ],
  [
    'service_replication_lag_seconds',
    'Time that the replica is behind the primary; infinite while the replica does not respond, NaN without a replica.',
    ({ condition }) => condition.replicationLagSeconds ?? Number.NaN,
  ],
  [
    'service_token_states_cached_memories',
    'Memories whose token states are in memory; NaN on PostgreSQL.',
    ({ condition }) => condition.cachedStates?.memories ?? Number.NaN,
  ],
  [
    'service_token_states_cached_bytes',
    'Bytes of the token states in memory; NaN on PostgreSQL.',
    ({ condition }) => condition.cachedStates?.bytes ?? Number.NaN,
  ],
  [
    'service_token_states_cache_limit_bytes',
    'Limit of the token states in memory; NaN on PostgreSQL.',
    ({ condition }) => condition.cachedStates?.maxBytes ?? Number.NaN,
  ],
  ['service_connections', 'Open connections.', ({ load }) => load.connections.open],
  ['service_connections_idle', 'Open connections without a pending request.', ({ load }) => load.connections.idle],
  [
    'service_http_requests_under_way',
    'Pending HTTP requests, whose responses have not been sent completely.',
    ({ load }) => load.pendingRequests,
  ],
] as const satisfies GaugeDefinition<Readings>[];

const MODEL_STATES = ['ready', 'unavailable', 'off'] as const satisfies EmbedderState[];

type GaugeDefinition<Source> = [name: string, help: string, read: (source: Source) => number];

function lastRunSeconds(stats: StatsResponse): number {
  return stats.last_sleep_at === null ? 0 : Date.parse(stats.last_sleep_at) / 1000;
}

/** Registers the gauges, and returns the function that sets them. */
export function createGauges(registers: Registers): (readings: Readings) => void {
  const statsSetters = [...GAUGES_BEFORE, ...GAUGES_AFTER].map(([name, help, read]) => {
    const gauge = new Gauge({ name, help, registers });
    return ({ stats }: Readings) => gauge.set(read(stats));
  });
  const otherSetters = FURTHER_GAUGES.map(([name, help, read]) => {
    const gauge = new Gauge({ name, help, registers });
    return (readings: Readings) => gauge.set(read(readings));
  });
  const setters = [...statsSetters, ...otherSetters, createModelGauges(registers), createHeavyWorkGauges(registers)];
  new Gauge({ name: 'service_build_info', help: 'Always 1.', labelNames: ['version'], registers }).set(
    { version: VERSION },
    1,
  );
  return (readings) => {
    for (const set of setters) set(readings);
  };
}

function createModelGauges(registers: Registers): (readings: Readings) => void {
  const gauge = (name: string, model: string) => {
    const help = `State of the ${model}: 1 for the current state (ready, unavailable or off), 0 for the others.`;
    return new Gauge({ name, help, labelNames: ['state'], registers });
  };
  const embedders = gauge('service_embedder_state', 'embedder, which recall by meaning needs');
  const rerankers = gauge('service_reranker_state', 'reranker after its last call');
  return ({ embedder, reranker }) => {
    for (const state of MODEL_STATES) {
      embedders.set({ state }, state === embedder ? 1 : 0);
      rerankers.set({ state }, state === reranker ? 1 : 0);
    }
  };
}

function createHeavyWorkGauges(registers: Registers): (readings: Readings) => void {
  const gauge = (name: string, help: string) => new Gauge({ name, help, labelNames: ['kind'], registers });
  const running = gauge('service_heavy_requests_running', 'Heavy requests that are running, by kind.');
  const waiting = gauge('service_heavy_requests_waiting', 'Heavy requests that are queued, by kind.');
  return ({ load }) => {
    for (const [kind, queue] of Object.entries(load.heavyWork)) {
      running.set({ kind }, queue.running);
      waiting.set({ kind }, queue.waiting);
    }
  };
}
