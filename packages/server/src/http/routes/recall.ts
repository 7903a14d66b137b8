import { RecallRequest, RecallResponse, withNullFields, withoutNullFields } from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';
import { createResponseSchemas } from '../response-schemas.ts';
import { NoQuery } from './parameters.ts';
import type { Route } from './route.ts';

const config = { access: 'read', heavy: 'recall' } as const;

/** Null means that a field is absent, except a user or an agent: a recall without them would search all memories. */
const { user_id, agent_id, ...nullable } = RecallRequest.properties;
const withNulls = withNullFields(Type.Object(nullable));
export const RecallBody = Type.Unsafe<RecallRequest>(
  Type.Object({ ...withNulls.properties, user_id, agent_id }, { additionalProperties: false }),
);

export const recall: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'recallMemories',
    summary: 'Recall the memories that best match a query',
    tags: ['memories'],
    querystring: RecallRequest,
    response: createResponseSchemas(RecallResponse),
  };
  app.get('/recall', { schema, config }, (request) => getApi(request).recall(request.query));
  const { querystring: _, ...rest } = schema;
  const withBody = {
    ...rest,
    operationId: 'queryMemories',
    summary: 'Recall the memories that best match a query, with the fields of `GET /recall` as a JSON body',
    querystring: NoQuery,
    body: RecallBody,
  };
  app.post('/recall', { schema: withBody, config: { ...config, isRead: true } }, (request) =>
    getApi(request).recall(withoutNullFields(withNulls, request.body) as RecallRequest),
  );
};
