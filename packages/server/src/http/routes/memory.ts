import { Memory, ScopeRequest } from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';
import { entityTag, isKnown } from '../request-headers.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import { MemoryPath } from './parameters.ts';
import type { Route } from './route.ts';

const ETAG = { type: 'string', description: 'Changes only when a client writes to the memory.' };

const ReadHeaders = Type.Object({
  'If-None-Match': Type.Optional(
    Type.String({
      description:
        'Entity tags of the versions that the caller has; if one matches, the response is 304 without a body.',
    }),
  ),
});

const config = { access: 'read' } as const;

export const memory: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'getMemory',
    summary: 'Get a complete memory',
    tags: ['memories'],
    params: MemoryPath,
    querystring: ScopeRequest,
    headers: ReadHeaders,
    response: {
      ...createResponseSchemas({ ...Memory, headers: { ETag: ETAG } }, 'NOT_FOUND'),
      304: { type: 'null', 'x-response-description': 'The memory has not changed.', headers: { ETag: ETAG } },
    },
  };
  app.get('/memories/:memory_id', { schema, config }, async (request, reply) => {
    const result = await getApi(request).memory(request.params.memory_id, request.query);
    reply.header('ETag', entityTag(result.version));
    return isKnown(request, result.version) ? reply.code(304).send() : result;
  });
};
