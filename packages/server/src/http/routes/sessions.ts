import { SessionsRequest, SessionsResponse } from '@memoryd/contract';
import { answers } from '../answers.ts';
import type { Route } from './route.ts';

const config = { access: 'read', heavy: 'list' } as const;

export const sessions: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'sessions',
    summary: 'The sessions with memories that pass a filter',
    tags: ['memories'],
    querystring: SessionsRequest,
    response: answers(SessionsResponse),
  };
  app.get('/sessions', { schema, config }, (request) => getApi(request).sessions(request.query));
};
