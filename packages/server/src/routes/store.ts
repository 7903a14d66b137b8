import { StoreRequest, StoreResponse } from '@memoryd/contract';
import { answers } from '../answers.ts';
import { StoreHeaders, storeOptionsOf } from '../request-headers.ts';
import { NoQuery } from './parameters.ts';
import type { Route } from './route.ts';

export const store: Route = (app, { api }) => {
  const schema = {
    operationId: 'store',
    summary: 'Store a memory',
    tags: ['memories'],
    headers: StoreHeaders,
    querystring: NoQuery,
    body: StoreRequest,
    response: answers(StoreResponse, 'CONFLICT'),
  };
  app.post('/store', { schema }, (request) => api.store(request.body, storeOptionsOf(request)));
};
