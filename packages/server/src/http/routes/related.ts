import { RelatedRequest, RelatedResponse } from '@memoryd/contract';
import { createResponseSchemas } from '../response-schemas.ts';
import { MemoryPath } from './parameters.ts';
import type { Route } from './route.ts';

const config = { access: 'read', heavy: 'recall' } as const;

export const related: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'listRelated',
    summary: 'List the memories that speak of the same thing as one memory',
    tags: ['memories'],
    params: MemoryPath,
    querystring: RelatedRequest,
    response: createResponseSchemas(RelatedResponse, 'NOT_FOUND'),
  };
  app.get('/memories/:memory_id/related', { schema, config }, (request) =>
    getApi(request).related(request.params.memory_id, request.query),
  );
};
