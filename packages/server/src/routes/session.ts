import { SessionResponse } from '@memoryd/contract';
import { answers } from '../answers.ts';
import { PageQuery, SessionPath } from './parameters.ts';
import type { Route } from './route.ts';

export const session: Route = (app, { api }) => {
  const schema = {
    operationId: 'session',
    summary: "A session's transcript, oldest first",
    tags: ['memories'],
    params: SessionPath,
    querystring: PageQuery,
    response: answers(SessionResponse),
  };
  app.get('/session/:session_id', { schema, config: { heavy: 'list' } }, (request) =>
    api.session({ ...request.query, ...request.params }),
  );
};
