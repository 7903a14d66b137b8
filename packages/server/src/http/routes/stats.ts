import { ScopeRequest, STATS_HISTORY, StatsHistoryResponse, StatsResponse } from '@memoryd/contract';
import { createResponseSchemas } from '../response-schemas.ts';
import { NoQuery } from './parameters.ts';
import type { Route } from './route.ts';

const config = { access: 'read' } as const;

export const stats: Route = (app, { getApi, metrics }) => {
  const schema = {
    operationId: 'getStats',
    summary: 'Get the number of memories per tier, the database size and the time of the last consolidation',
    tags: ['service'],
    querystring: ScopeRequest,
    response: createResponseSchemas(StatsResponse),
  };
  app.get('/stats', { schema, config }, (request) => getApi(request).stats(request.query));

  const history = {
    operationId: 'getStatsHistory',
    summary: 'Get the rates and latencies of the last 24 hours',
    description:
      'The values cover all namespaces and this service process. They are in memory only, and end with the process.',
    tags: ['administration'],
    querystring: NoQuery,
    response: createResponseSchemas(StatsHistoryResponse),
  };
  const historyConfig = { access: 'operate', refusesForeignPages: true } as const;
  app.get('/stats/history', { schema: history, config: historyConfig }, () => ({
    period_seconds: STATS_HISTORY.periodSeconds,
    periods: metrics.history.read(),
  }));
};
