import { setTimeout as delay } from 'node:timers/promises';
import { HealthResponse, LivenessResponse, type MemoryApi, MemoryError, type StatsResponse } from '@memoryd/contract';
import type { Engine, Telemetry } from '@memoryd/engine';
import { getVariable } from '../../settings/names.ts';
import { VERSION } from '../../version.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import type { Route } from './route.ts';

/** Timeout for reading the counts, shorter than common timeouts of health probes. */
const STATS_TIMEOUT_MS = 5000;

/** Placeholder counts for a database that cannot be read. */
export const UNKNOWN_COUNTS = {
  db_size_mb: 0,
  working_count: 0,
  episodic_count: 0,
  semantic_count: 0,
  last_sleep_at: null,
};

const config = { access: 'anyone' } as const;

/**
 * `GET /health` and `GET /readyz` report whether the service is ready to work; `GET /livez`, whether the process
 * responds. The routes have no schema for query parameters, because probes may add parameters to bypass caches.
 */
export const health: Route = (app, { engine, getApi, telemetry }) => {
  const startedMs = performance.now();
  const uptimeSeconds = () => Math.floor((performance.now() - startedMs) / 1000);
  const report = createHealthReporter(telemetry);
  for (const [path, operationId] of HEALTH_PATHS) {
    const schema = {
      operationId,
      summary: 'Get the health of the service',
      description:
        'Returns status 503 and `unhealthy`, with the reason, while the database is unreadable, not writable, corrupt, a ' +
        'standby or out of disk space. Without an API key, the counts are those of the namespace `default`.',
      tags: ['service'],
      response: {
        ...createResponseSchemas(HealthResponse),
        503: { ...HealthResponse, 'x-response-description': 'Unhealthy.' },
      },
    };
    app.get(path, { schema, config }, async (request, reply) => {
      const [problem, stats] = await Promise.all([engine.databaseProblem(), readStats(getApi(request), telemetry)]);
      const reason = problem ?? (stats ? undefined : 'the database cannot be read; see the log');
      report(reason);
      if (reason !== undefined) reply.code(503);
      const { db_size_mb, working_count, episodic_count, semantic_count, last_sleep_at } = stats ?? UNKNOWN_COUNTS;
      return {
        status: reason === undefined ? ('healthy' as const) : ('unhealthy' as const),
        ...(reason !== undefined && { reason }),
        version: VERSION,
        db_connected: stats !== undefined,
        db_size_mb,
        working_count,
        episodic_count,
        semantic_count,
        last_sleep_at,
        uptime_seconds: uptimeSeconds(),
        ...getEmbedderFields(engine),
      };
    });
  }
  const schema = {
    operationId: 'liveness',
    summary: 'Check that the process responds, regardless of the database',
    tags: ['service'],
    response: createResponseSchemas(LivenessResponse),
  };
  app.get('/livez', { schema, config }, async () => {
    return { status: 'alive' as const, version: VERSION, uptime_seconds: uptimeSeconds() };
  });
};

const HEALTH_PATHS = [
  ['/health', 'health'],
  ['/readyz', 'readiness'],
] as const;

/** Returns a function that reports each change between healthy and unhealthy, and each change of the reason. */
function createHealthReporter(telemetry: Telemetry): (reason: string | undefined) => void {
  let last: string | undefined;
  return (reason) => {
    if (reason === last) return;
    last = reason;
    if (reason === undefined) telemetry.report({ level: 'info', component: 'server', event: 'service_healthy' });
    else telemetry.report({ level: 'error', component: 'server', event: 'service_unhealthy', facts: { reason } });
  };
}

function getEmbedderFields(engine: Engine): Pick<HealthResponse, 'embedder' | 'embedder_problem'> {
  const { state, problem, option } = engine.embedder();
  const hint = option ? `; check ${getVariable(option)}` : '';
  return { embedder: state, ...(problem !== undefined && { embedder_problem: problem + hint }) };
}

/** Reads the counts. Returns `undefined` if reading fails or exceeds the timeout. */
async function readStats(api: MemoryApi, telemetry: Telemetry): Promise<StatsResponse | undefined> {
  const finished = new AbortController();
  const timeout = delay(STATS_TIMEOUT_MS, undefined, { signal: finished.signal }).catch(() => undefined);
  const read = api.stats().catch((error: unknown) => {
    const isDefect = !(error instanceof MemoryError) || error.code === 'INTERNAL_ERROR';
    if (isDefect) telemetry.report({ level: 'error', component: 'http', event: 'health_unknown', error });
    return undefined;
  });
  try {
    return await Promise.race([read, timeout]);
  } finally {
    finished.abort();
  }
}
