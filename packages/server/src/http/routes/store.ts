import { SimilarRequest, StoreRequest, StoreResponse } from '@memoryd/contract';
import { readStoreOptions, StoreHeaders } from '../request-headers.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import type { Route } from './route.ts';

/** With `similar`, a store is a recall too. Refused for lack of a slot, it has stored nothing. */
const config = { access: 'write', heavyWith: { parameter: 'similar', kind: 'recall' } } as const;

export const store: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'storeMemory',
    summary: 'Store a memory',
    tags: ['memories'],
    headers: StoreHeaders,
    querystring: SimilarRequest,
    body: StoreRequest,
    response: createResponseSchemas(StoreResponse, 'NOT_FOUND', 'CONFLICT'),
  };
  app.post('/store', { schema, config }, (request) =>
    getApi(request).store(request.body, { ...readStoreOptions(request), ...request.query }),
  );
};
