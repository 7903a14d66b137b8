import { MemoriesRequest, MemoriesResponse } from '@memoryd/contract';
import { createResponseSchemas } from '../response-schemas.ts';
import type { Route } from './route.ts';

const config = { access: 'read', heavy: 'list' } as const;

export const memories: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'listMemories',
    summary: 'List the memories that match a filter, newest first',
    tags: ['memories'],
    querystring: MemoriesRequest,
    response: createResponseSchemas(MemoriesResponse),
  };
  app.get('/memories', { schema, config }, (request) => getApi(request).memories(request.query));
};
