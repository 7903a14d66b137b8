import { SessionsRequest, SessionsResponse } from '@memoryd/contract';
import { createResponseSchemas } from '../response-schemas.ts';
import type { Route } from './route.ts';

const config = { access: 'read', heavy: 'list' } as const;

export const sessions: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'listSessions',
    summary: 'List the sessions with memories that match a filter',
    tags: ['memories'],
    querystring: SessionsRequest,
    response: createResponseSchemas(SessionsResponse),
  };
  app.get('/sessions', { schema, config }, (request) => getApi(request).sessions(request.query));
};
