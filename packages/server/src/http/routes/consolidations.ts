import { ConsolidationsRequest, ConsolidationsResponse } from '@memoryd/contract';
import { createResponseSchemas } from '../response-schemas.ts';
import type { Route } from './route.ts';

const config = { access: 'read', heavy: 'list' } as const;

export const consolidations: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'listConsolidations',
    summary: 'List past consolidations, newest first',
    tags: ['service'],
    querystring: ConsolidationsRequest,
    response: createResponseSchemas(ConsolidationsResponse),
  };
  app.get('/consolidations', { schema, config }, (request) => getApi(request).consolidations(request.query));
};
