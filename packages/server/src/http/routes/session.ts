import { SessionRequest, SessionResponse } from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';
import { createResponseSchemas } from '../response-schemas.ts';
import { SessionPath } from './parameters.ts';
import type { Route } from './route.ts';

const { session_id: _, ...query } = SessionRequest.properties;
const SessionQuery = Type.Object(query, { additionalProperties: false });

const config = { access: 'read', heavy: 'list' } as const;

export const session: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'getSession',
    summary: 'Get the transcript of a session, oldest first',
    tags: ['memories'],
    params: SessionPath,
    querystring: SessionQuery,
    response: createResponseSchemas(SessionResponse),
  };
  app.get('/session/:session_id', { schema, config }, (request) =>
    getApi(request).session({ ...request.query, ...request.params }),
  );
};
