import { RecallsRequest, RecallsResponse } from '@memoryd/contract';
import { createResponseSchemas } from '../response-schemas.ts';
import type { Route } from './route.ts';

const config = { access: 'read', heavy: 'list' } as const;

export const recalls: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'listRecalls',
    summary: 'List the last recalls and given contexts, newest first',
    tags: ['memories'],
    querystring: RecallsRequest,
    response: createResponseSchemas(RecallsResponse),
  };
  app.get('/recalls', { schema, config }, (request) => getApi(request).recalls(request.query));
};
