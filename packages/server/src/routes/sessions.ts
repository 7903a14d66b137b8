import { SessionsRequest, SessionsResponse } from '@memoryd/contract';
import { answers } from '../answers.ts';
import type { Route } from './route.ts';

export const sessions: Route = (app, { api }) => {
  const schema = {
    operationId: 'sessions',
    summary: 'The sessions with memories that pass a filter',
    tags: ['memories'],
    querystring: SessionsRequest,
    response: answers(SessionsResponse),
  };
  app.get('/sessions', { schema, config: { heavy: 'list' } }, (request) => api.sessions(request.query));
};
