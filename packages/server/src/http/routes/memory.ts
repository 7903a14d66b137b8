import { Memory, ScopeRequest } from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';
import { answers } from '../answers.ts';
import { entityTag, isKnown } from '../request-headers.ts';
import { MemoryPath } from './parameters.ts';
import type { Route } from './route.ts';

const ETAG = { type: 'string', description: 'Changes with every client write to the memory and with nothing else.' };

const ReadHeaders = Type.Object({
  'If-None-Match': Type.Optional(
    Type.String({
      description: 'Entity tags that the caller has; if one matches, the response is 304 without a body.',
    }),
  ),
});

const config = { access: 'read' } as const;

export const memory: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'memory',
    summary: 'One memory whole',
    tags: ['memories'],
    params: MemoryPath,
    querystring: ScopeRequest,
    headers: ReadHeaders,
    response: {
      ...answers({ ...Memory, headers: { ETag: ETAG } }, 'NOT_FOUND'),
      304: { type: 'null', 'x-response-description': 'The memory is as the caller has it.', headers: { ETag: ETAG } },
    },
  };
  app.get('/memories/:memory_id', { schema, config }, async (request, reply) => {
    const found = await getApi(request).memory(request.params.memory_id, request.query);
    reply.header('ETag', entityTag(found.version));
    return isKnown(request, found.version) ? reply.code(304).send() : found;
  });
};
