import { RecallRequest, RecallResponse } from '@memoryd/contract';
import { createResponseSchemas } from '../response-schemas.ts';
import type { Route } from './route.ts';

const config = { access: 'read', heavy: 'recall' } as const;

export const recall: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'recall',
    summary: 'Recall the memories that best match a query',
    tags: ['memories'],
    querystring: RecallRequest,
    response: createResponseSchemas(RecallResponse),
  };
  app.get('/recall', { schema, config }, (request) => getApi(request).recall(request.query));
};
