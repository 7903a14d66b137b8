import { ScopeRequest, StatsResponse } from '@memoryd/contract';
import { createResponseSchemas } from '../response-schemas.ts';
import type { Route } from './route.ts';

const config = { access: 'read' } as const;

export const stats: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'getStats',
    summary: 'Get the number of memories per tier, the database size and the time of the last consolidation',
    tags: ['service'],
    querystring: ScopeRequest,
    response: createResponseSchemas(StatsResponse),
  };
  app.get('/stats', { schema, config }, (request) => getApi(request).stats(request.query));
};
