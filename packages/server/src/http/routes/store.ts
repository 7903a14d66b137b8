import { StoreRequest, StoreResponse } from '@memoryd/contract';
import { readStoreOptions, StoreHeaders } from '../request-headers.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import { NoQuery } from './parameters.ts';
import type { Route } from './route.ts';

const config = { access: 'write' } as const;

export const store: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'store',
    summary: 'Store a memory',
    tags: ['memories'],
    headers: StoreHeaders,
    querystring: NoQuery,
    body: StoreRequest,
    response: createResponseSchemas(StoreResponse, 'CONFLICT'),
  };
  app.post('/store', { schema, config }, (request) => getApi(request).store(request.body, readStoreOptions(request)));
};
