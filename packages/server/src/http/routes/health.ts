import { setTimeout as delay } from 'node:timers/promises';
import { HealthResponse, LivenessResponse, type MemoryApi, MemoryError, type StatsResponse } from '@memoryd/contract';
import type { Engine, Telemetry } from '@memoryd/engine';
import { getVariable } from '../../settings/names.ts';
import { VERSION } from '../../version.ts';
import { answers } from '../answers.ts';
import type { Route } from './route.ts';

/** Longest wait for the database: whoever looks at the health of a service waits no longer for its answer. */
const MAX_WAIT_MS = 5000;

/** The counts of a database that cannot be read. */
export const UNKNOWN_COUNTS = {
  db_size_mb: 0,
  working_count: 0,
  episodic_count: 0,
  semantic_count: 0,
  last_sleep_at: null,
};

const config = { access: 'anyone' } as const;

/**
 * `GET /health` and `GET /readyz`: whether the service can do its work. `GET /livez`: whether the process answers. None has a
 * schema of parameters, since probes may add some to get past caches.
 */
export const health: Route = (app, { engine, getApi, telemetry }) => {
  const startedMs = performance.now();
  const uptimeSeconds = () => Math.floor((performance.now() - startedMs) / 1000);
  const report = problemReporter(telemetry);
  for (const [path, operationId] of HEALTH_PATHS) {
    const schema = {
      operationId,
      summary: 'Whether the service can do its work',
      description:
        'Status 503 and `unhealthy`, with the reason, while the database cannot be read or written, is damaged, is a standby or has no room. Without a key, the counts are of the namespace `default`.',
      tags: ['service'],
      response: { ...answers(HealthResponse), 503: { ...HealthResponse, 'x-response-description': 'Unhealthy.' } },
    };
    app.get(path, { schema, config }, async (request, reply) => {
      const [problem, stats] = await Promise.all([engine.databaseProblem(), readStats(getApi(request), telemetry)]);
      const reason = problem ?? (stats ? undefined : 'the database cannot be read');
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
        ...embedderFields(engine),
      };
    });
  }
  const schema = {
    operationId: 'liveness',
    summary: 'Whether the process answers, whatever the database does',
    tags: ['service'],
    response: answers(LivenessResponse),
  };
  app.get('/livez', { schema, config }, async () => {
    return { status: 'alive' as const, version: VERSION, uptime_seconds: uptimeSeconds() };
  });
};

const HEALTH_PATHS = [
  ['/health', 'health'],
  ['/readyz', 'readiness'],
] as const;

/** Returns what reports that the service has become unhealthy, and that it is healthy again. */
function problemReporter(telemetry: Telemetry): (reason: string | undefined) => void {
  let last: string | undefined;
  return (reason) => {
    if (reason === last) return;
    last = reason;
    if (reason === undefined) telemetry.report({ level: 'info', component: 'server', event: 'service_healthy' });
    else telemetry.report({ level: 'error', component: 'server', event: 'service_unhealthy', facts: { reason } });
  };
}

function embedderFields(engine: Engine): Pick<HealthResponse, 'embedder' | 'embedder_problem'> {
  const { state, problem, option } = engine.embedder();
  const lookAt = option ? `; look at ${getVariable(option)}` : '';
  return { embedder: state, ...(problem !== undefined && { embedder_problem: problem + lookAt }) };
}

/** Nothing where the database cannot be read, or not in time: that is an answer here, not an error. */
async function readStats(api: MemoryApi, telemetry: Telemetry): Promise<StatsResponse | undefined> {
  const waited = new AbortController();
  const late = delay(MAX_WAIT_MS, undefined, { signal: waited.signal }).catch(() => undefined);
  const read = api.stats().catch((error: unknown) => {
    const isDefect = !(error instanceof MemoryError) || error.code === 'INTERNAL_ERROR';
    if (isDefect) telemetry.report({ level: 'error', component: 'http', event: 'health_unknown', error });
    return undefined;
  });
  try {
    return await Promise.race([read, late]);
  } finally {
    waited.abort();
  }
}
