import { SessionResponse } from '@memoryd/contract';
import { answers } from '../answers.ts';
import { PageQuery, SessionPath } from './parameters.ts';
import type { Route } from './route.ts';

const config = { access: 'read', heavy: 'list' } as const;

export const session: Route = (app, { apiOf }) => {
  const schema = {
    operationId: 'session',
    summary: "A session's transcript, oldest first",
    tags: ['memories'],
    params: SessionPath,
    querystring: PageQuery,
    response: answers(SessionResponse),
  };
  app.get('/session/:session_id', { schema, config }, (request) =>
    apiOf(request).session({ ...request.query, ...request.params }),
  );
};
