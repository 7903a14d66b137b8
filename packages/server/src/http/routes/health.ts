import { DEFAULTS, HealthResponse, LivenessResponse, type TierCounts } from '@memoryd/contract';
import type { EmbedderHealth, Engine, EngineState, RerankerHealth, Telemetry } from '@memoryd/engine';
import type { FastifyRequest } from 'fastify';
import { getBinding } from '../../caller.ts';
import { getVariable } from '../../settings/names.ts';
import { VERSION } from '../../version.ts';
import { createRecentStats } from '../recent-stats.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import type { Route } from './route.ts';

/** Placeholder counts for a database that has never been read. */
export const NOTHING_READ = {
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
  const getRecentStats = createRecentStats();
  /** Returns the state of the database, with the statistics of the memories that the caller can access. */
  async function readState(request: FastifyRequest): Promise<EngineState> {
    const { caller } = request;
    const state = engine.databaseState(caller.scope);
    if (caller.namespace === DEFAULTS.namespace && getBinding(caller) === undefined) return state;
    const stats = getRecentStats(caller, getApi(request));
    return { ...(await state), stats: await stats };
  }
  for (const [path, operationId] of HEALTH_PATHS) {
    const schema = {
      operationId,
      summary: 'Get the health of the service',
      description:
        'Responds within 200 ms, from a state that is refreshed every second. Returns status 503 and `unhealthy`, with ' +
        'the reason, while the database is unreadable, not writable, corrupt, a standby or out of disk space, or has not ' +
        'answered for 5 seconds, and to a caller whose counts have not been read yet. Without a valid API key, the counts are ' +
        'those of the namespace `default`.',
      tags: ['service'],
      response: {
        ...createResponseSchemas(HealthResponse),
        503: { ...HealthResponse, 'x-response-description': 'Unhealthy.' },
      },
    };
    app.get(path, { schema, config }, async (request, reply) => {
      const { stats, ...state } = await readState(request);
      report(state.problem, state.isUnanswered);
      const reason = state.problem ?? (stats ? undefined : 'the counts have not been read yet; retry in a second');
      if (reason !== undefined) reply.code(503);
      return {
        ...toStatus(reason),
        version: VERSION,
        checked_at: state.checkedAt === null ? null : new Date(state.checkedAt).toISOString(),
        db_connected: state.isReadable,
        ...pickCounts(stats ?? NOTHING_READ),
        uptime_seconds: uptimeSeconds(),
        ...getEmbedderFields(engine),
        ...getRerankerFields(engine),
      };
    });
  }
  const schema = {
    operationId: 'getLiveness',
    summary: 'Check that the process responds, regardless of the database',
    tags: ['service'],
    response: createResponseSchemas(LivenessResponse),
  };
  app.get('/livez', { schema, config }, async () => {
    return { status: 'alive' as const, version: VERSION, uptime_seconds: uptimeSeconds() };
  });
};

const HEALTH_PATHS = [
  ['/health', 'getHealth'],
  ['/readyz', 'getReadiness'],
] as const;

function toStatus(reason: string | undefined): Pick<HealthResponse, 'status' | 'reason'> {
  return reason === undefined ? { status: 'healthy' } : { status: 'unhealthy', reason };
}

type Counts = Pick<HealthResponse, 'db_size_mb' | keyof TierCounts | 'last_sleep_at'>;

function pickCounts({ db_size_mb, working_count, episodic_count, semantic_count, last_sleep_at }: Counts): Counts {
  return { db_size_mb, working_count, episodic_count, semantic_count, last_sleep_at };
}

/**
 * Returns a function that reports each change between healthy and unhealthy, and each change of the reason. While the
 * database does not answer, the reason changes every second, and is reported once. Counts of one caller that have not
 * been read yet are no reason. Only the response to that caller names them.
 */
function createHealthReporter(telemetry: Telemetry): (reason: string | undefined, isUnanswered: boolean) => void {
  let last: string | undefined;
  return (reason, isUnanswered) => {
    const kind = isUnanswered ? 'unanswered' : reason;
    if (kind === last) return;
    last = kind;
    if (reason === undefined) telemetry.report({ level: 'info', component: 'server', event: 'service_healthy' });
    else telemetry.report({ level: 'error', component: 'server', event: 'service_unhealthy', facts: { reason } });
  };
}

function getEmbedderFields(engine: Engine): Pick<HealthResponse, 'embedder' | 'embedder_problem'> {
  const { state, ...failure } = engine.embedder();
  const problem = describeProblem(failure);
  return { embedder: state, ...(problem !== undefined && { embedder_problem: problem }) };
}

function getRerankerFields(engine: Engine): Pick<HealthResponse, 'reranker' | 'reranker_problem'> {
  const { state, ...failure } = engine.reranker();
  if (state === 'off') return {};
  const problem = describeProblem(failure);
  return { reranker: state, ...(problem !== undefined && { reranker_problem: problem }) };
}

/** Returns the problem of a model with the setting to check. */
function describeProblem({ problem, option }: Omit<EmbedderHealth | RerankerHealth, 'state'>): string | undefined {
  return option ? `${problem}; check ${getVariable(option)}` : problem;
}
