import { setTimeout as delay } from 'node:timers/promises';
import { HealthResponse, type MemoryApi, MemoryError, type StatsResponse } from '@memoryd/contract';
import type { Engine, Telemetry } from '@memoryd/engine';
import { variableOf } from '../../settings/names.ts';
import { VERSION } from '../../version.ts';
import { answers } from '../answers.ts';
import { NoQuery } from './parameters.ts';
import type { Route } from './route.ts';

/** Longest wait for the database: whoever looks at the health of a service waits no longer for its answer. */
const LONGEST_WAIT_MS = 5000;

const UNKNOWN = { db_size_mb: 0, working_count: 0, episodic_count: 0, semantic_count: 0, last_sleep_at: null };

const config = { access: 'anyone' } as const;

export const health: Route = (app, { engine, apiOf, telemetry }) => {
  const startedMs = performance.now();
  const schema = {
    operationId: 'health',
    summary: 'Whether the service can answer',
    description:
      'Status 503 and `unhealthy` while the database cannot be used. Without a key, the counts are of the namespace `default`.',
    tags: ['service'],
    querystring: NoQuery,
    response: { ...answers(HealthResponse), 503: { ...HealthResponse, 'x-response-description': 'Unhealthy.' } },
  };
  app.get('/health', { schema, config }, async (request, reply) => {
    const stats = await readStats(apiOf(request), telemetry);
    if (!stats) reply.code(503);
    const { db_size_mb, working_count, episodic_count, semantic_count, last_sleep_at } = stats ?? UNKNOWN;
    return {
      status: stats ? ('healthy' as const) : ('unhealthy' as const),
      version: VERSION,
      db_connected: stats !== undefined,
      db_size_mb,
      working_count,
      episodic_count,
      semantic_count,
      last_sleep_at,
      uptime_seconds: Math.floor((performance.now() - startedMs) / 1000),
      ...embedderFields(engine),
    };
  });
};

function embedderFields(engine: Engine): Pick<HealthResponse, 'embedder' | 'embedder_problem'> {
  const { state, problem, option } = engine.embedder();
  const lookAt = option ? `; look at ${variableOf(option)}` : '';
  return { embedder: state, ...(problem !== undefined && { embedder_problem: problem + lookAt }) };
}

/** Nothing where the database cannot be read, or not in time: that is an answer here, not an error. */
async function readStats(api: MemoryApi, telemetry: Telemetry): Promise<StatsResponse | undefined> {
  const waited = new AbortController();
  const late = delay(LONGEST_WAIT_MS, undefined, { signal: waited.signal }).catch(() => undefined);
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
