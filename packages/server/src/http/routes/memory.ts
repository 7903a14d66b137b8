import { Memory } from '@memoryd/contract';
import { answers } from '../answers.ts';
import { entityTag } from '../request-headers.ts';
import { MemoryPath, NoQuery } from './parameters.ts';
import type { Route } from './route.ts';

const ETAG = { type: 'string', description: 'Changes with every client write to the memory and with nothing else.' };

const config = { access: 'read' } as const;

export const memory: Route = (app, { apiOf }) => {
  const schema = {
    operationId: 'memory',
    summary: 'One memory whole',
    tags: ['memories'],
    params: MemoryPath,
    querystring: NoQuery,
    response: answers({ ...Memory, headers: { ETag: ETAG } }, 'NOT_FOUND'),
  };
  app.get('/memories/:memory_id', { schema, config }, async (request, reply) => {
    const found = await apiOf(request).memory(request.params.memory_id);
    reply.header('ETag', entityTag(found.version));
    return found;
  });
};
