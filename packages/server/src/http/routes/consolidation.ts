import { ConsolidationResponse } from '@memoryd/contract';
import { createResponseSchemas } from '../response-schemas.ts';
import { ConsolidationPath, PageQuery } from './parameters.ts';
import type { Route } from './route.ts';

const config = { access: 'read', heavy: 'list' } as const;

export const consolidation: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'getConsolidation',
    summary: 'Get a consolidation and its changes',
    tags: ['service'],
    params: ConsolidationPath,
    querystring: PageQuery,
    response: createResponseSchemas(ConsolidationResponse, 'NOT_FOUND'),
  };
  app.get('/consolidations/:id', { schema, config }, (request) =>
    getApi(request).consolidation({ ...request.query, ...request.params }),
  );
};
