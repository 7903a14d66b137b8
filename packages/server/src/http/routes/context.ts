import { ContextRequest, ContextResponse, withNullFields, withoutNullFields } from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';
import { createResponseSchemas } from '../response-schemas.ts';
import { NoQuery } from './parameters.ts';
import type { Route } from './route.ts';

const config = { access: 'read', heavy: 'recall' } as const;

/** Null means that a field is absent, except a user or an agent: a context without them would have all memories. */
const { user_id, agent_id, ...nullable } = ContextRequest.properties;
const withNulls = withNullFields(Type.Object(nullable));
export const ContextBody = Type.Unsafe<ContextRequest>(
  Type.Object(
    { ...withNulls.properties, user_id, agent_id },
    {
      additionalProperties: false,
      examples: [{ query: 'Plan a dinner for Ada', user_id: 'ada', session_id: 'chat-7' }],
    },
  ),
);

/** A GET request changes nothing, so it has no field that would. */
const { once: _once, reset: _reset, track: _track, exclude_texts: _texts, ...unchanging } = ContextRequest.properties;
const ContextQuery = Type.Object(unchanging, { additionalProperties: false });

/** `/context`: what an agent should know now. */
export const context: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'previewContext',
    summary: 'Preview the context of an agent, and record nothing',
    description:
      'The response to `POST /context` with `once=false` and `track=false`. With `session_id`, leaves out what was stored in the session.',
    tags: ['memories'],
    querystring: ContextQuery,
    response: createResponseSchemas(ContextResponse),
  };
  app.get('/context', { schema, config }, (request) =>
    getApi(request).context({ ...request.query, once: false, track: false }),
  );
  const withBody = {
    operationId: 'getContext',
    summary: 'Get what an agent should know now, as a text for its prompt',
    description:
      'First standing notes: memories with an `importance` of at least 0.9 that hold, newest first, in at most a third of ' +
      'the budget. Then what answers the query, as a recall with `only_relevant` and `current`; equal texts once, and a short ' +
      'reply with the question before it. A query that asks for what was before also gets what no longer holds. Without a ' +
      'query, the newest statements of the last sessions. A text of more than a third of the budget is shown as an excerpt. ' +
      'With `session_id`, each memory is given once in the session; the service process remembers this for a day.',
    tags: ['memories'],
    querystring: NoQuery,
    body: ContextBody,
    response: createResponseSchemas(ContextResponse),
  };
  // Not `isRead`: a response that was refused would count as given.
  app.post('/context', { schema: withBody, config }, (request) =>
    getApi(request).context(withoutNullFields(withNulls, request.body) as ContextRequest),
  );
};
