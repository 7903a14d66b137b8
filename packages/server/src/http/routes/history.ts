import { HistoryRequest, HistoryResponse } from '@memoryd/contract';
import { createResponseSchemas } from '../response-schemas.ts';
import { MemoryPath } from './parameters.ts';
import type { Route } from './route.ts';

const config = { access: 'read', heavy: 'list' } as const;

export const history: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'getMemoryHistory',
    summary: 'List every version of the text of a memory, oldest first',
    description: 'With `known_at`, returns only the text at that time, or NOT_FOUND if the memory was stored later.',
    tags: ['memories'],
    params: MemoryPath,
    querystring: HistoryRequest,
    response: createResponseSchemas(HistoryResponse, 'NOT_FOUND'),
  };
  app.get('/memories/:memory_id/history', { schema, config }, (request) =>
    getApi(request).history(request.params.memory_id, request.query),
  );
};
