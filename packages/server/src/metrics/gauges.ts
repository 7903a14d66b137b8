import type { EmbedderState, StatsResponse } from '@memoryd/contract';
import type { FairQueue, StorageCondition } from '@memoryd/engine';
import { Gauge } from 'prom-client';
import type { Settings } from '../settings/read.ts';
import { VERSION } from '../version.ts';
import type { Registers } from './registers.ts';

/** What is read when a scraper asks. */
export interface Readings {
  /** Over all namespaces. */
  stats: StatsResponse;
  /** Working memories of the namespace that has most. */
  fullestWorkingCount: number;
  embedder: EmbedderState;
  isHealthy: boolean;
  condition: StorageCondition;
  settings: Pick<Settings, 'workingMax' | 'consolidationIntervalSeconds' | 'dbSizeAlertMb'>;
  load: Load;
}

/** What the process is at. */
interface Load {
  requestsUnderWay: number;
  /** Work that takes much memory or time, by kind. */
  heavyWork: Readonly<Record<string, Pick<FairQueue, 'taken' | 'waiting'>>>;
  eventStreams: number;
  connections: ConnectionCount;
  /** Resident memory beyond which requests are refused. */
  maxResidentBytes: number;
}

/** Connections of the server, and how many of them have no request. */
export interface ConnectionCount {
  open: number;
  idle: number;
}

/** Gauges of the REST interface, in its order, around the quantiles of query latency. */
export const GAUGES_BEFORE = [
  ['service_working_memory_entries', 'Entries in the working tier.', (stats) => stats.working_count],
  ['service_episodic_memory_entries', 'Entries in the episodic tier.', (stats) => stats.episodic_count],
  ['service_semantic_memory_entries', 'Entries in the semantic tier.', (stats) => stats.semantic_count],
] as const satisfies NumberOf<StatsResponse>[];
export const GAUGES_AFTER = [
  ['service_consolidation_last_run', 'Time of the last consolidation, Unix seconds; 0 before it.', lastRunSeconds],
  ['service_db_size_bytes', 'Size of the database in bytes.', (stats) => Math.round(stats.db_size_mb * 1e6)],
] as const satisfies NumberOf<StatsResponse>[];

const FURTHER_GAUGES = [
  [
    'service_working_memory_fullest_entries',
    'Entries in the working tier of the namespace that has most of them.',
    ({ fullestWorkingCount }) => fullestWorkingCount,
  ],
  [
    'service_working_memory_max_entries',
    'Most entries that the working tier of one namespace may have.',
    ({ settings }) => settings.workingMax,
  ],
  [
    'service_consolidation_interval_seconds',
    'Time between consolidations that run by themselves; 0 where none do.',
    ({ settings }) => settings.consolidationIntervalSeconds,
  ],
  ['service_pending_embeddings', 'Memories that wait for their vectors.', ({ stats }) => stats.pending_embeddings],
  [
    'service_embedded_memories',
    'Memories that do not wait for vectors of the model in use.',
    ({ stats }) => stats.embedding?.embedded ?? 0,
  ],
  ['service_event_streams', 'Streams of events that are open.', ({ load }) => load.eventStreams],
  [
    'service_healthy',
    '1 while the service can do its work, as /health says it, else 0.',
    ({ isHealthy }) => Number(isHealthy),
  ],
  [
    'service_db_size_alert_bytes',
    'Size of the database beyond which an alert should fire.',
    ({ settings }) => settings.dbSizeAlertMb * 1e6,
  ],
  [
    'service_memory_limit_bytes',
    'Resident memory beyond which requests are refused.',
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
    'Time of the last backup that memoryd made of a database file, Unix seconds; 0 before it, NaN on PostgreSQL.',
    ({ condition: { backedUpAt } }) => (backedUpAt === undefined ? Number.NaN : (backedUpAt ?? 0) / 1000),
  ],
  [
    'service_replication_lag_seconds',
    'How far the replica is behind the database; infinite while it does not answer, NaN without one.',
    ({ condition }) => condition.replicationLagSeconds ?? Number.NaN,
  ],
  ['service_connections', 'Connections that are open.', ({ load }) => load.connections.open],
  ['service_connections_idle', 'Connections that are open and have no request.', ({ load }) => load.connections.idle],
  [
    'service_http_requests_under_way',
    'HTTP requests that have arrived and whose answers have not left.',
    ({ load }) => load.requestsUnderWay,
  ],
] as const satisfies NumberOf<Readings>[];

const EMBEDDER_STATES = ['ready', 'unavailable', 'off'] as const satisfies EmbedderState[];

type NumberOf<From> = [name: string, help: string, read: (from: From) => number];

function lastRunSeconds(stats: StatsResponse): number {
  return stats.last_sleep_at === null ? 0 : Date.parse(stats.last_sleep_at) / 1000;
}

/** Adds the gauges, and answers what sets them. */
export function createGauges(registers: Registers): (readings: Readings) => void {
  const ofStats = [...GAUGES_BEFORE, ...GAUGES_AFTER].map(([name, help, read]) => {
    const gauge = new Gauge({ name, help, registers });
    return ({ stats }: Readings) => gauge.set(read(stats));
  });
  const others = FURTHER_GAUGES.map(([name, help, read]) => {
    const gauge = new Gauge({ name, help, registers });
    return (readings: Readings) => gauge.set(read(readings));
  });
  const setters = [...ofStats, ...others, embedderState(registers), heavyWork(registers)];
  new Gauge({ name: 'service_build_info', help: 'Always 1.', labelNames: ['version'], registers }).set(
    { version: VERSION },
    1,
  );
  return (readings) => {
    for (const set of setters) set(readings);
  };
}

function embedderState(registers: Registers): (readings: Readings) => void {
  const gauge = new Gauge({
    name: 'service_embedder_state',
    help: 'Whether recall by meaning works: 1 for the state it is in (ready, unavailable or off), 0 for the others.',
    labelNames: ['state'],
    registers,
  });
  return ({ embedder }) => {
    for (const state of EMBEDDER_STATES) gauge.set({ state }, state === embedder ? 1 : 0);
  };
}

function heavyWork(registers: Registers): (readings: Readings) => void {
  const gauge = (name: string, help: string) => new Gauge({ name, help, labelNames: ['kind'], registers });
  const running = gauge('service_heavy_requests_running', 'Requests of a heavy kind that are worked on.');
  const waiting = gauge('service_heavy_requests_waiting', 'Requests of a heavy kind that wait for their turn.');
  return ({ load }) => {
    for (const [kind, turns] of Object.entries(load.heavyWork)) {
      running.set({ kind }, turns.taken);
      waiting.set({ kind }, turns.waiting);
    }
  };
}
