import { ScopeRequest, StatsResponse } from '@memoryd/contract';
import { answers } from '../answers.ts';
import type { Route } from './route.ts';

const config = { access: 'read' } as const;

export const stats: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'stats',
    summary: 'Counts by tier, database size and the last consolidation',
    tags: ['service'],
    querystring: ScopeRequest,
    response: answers(StatsResponse),
  };
  app.get('/stats', { schema, config }, (request) => getApi(request).stats(request.query));
};
