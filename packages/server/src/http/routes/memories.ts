import { MemoriesRequest, MemoriesResponse } from '@memoryd/contract';
import { answers } from '../answers.ts';
import type { Route } from './route.ts';

const config = { access: 'read', heavy: 'list' } as const;

export const memories: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'memories',
    summary: 'The memories that pass a filter, newest first',
    tags: ['memories'],
    querystring: MemoriesRequest,
    response: answers(MemoriesResponse),
  };
  app.get('/memories', { schema, config }, (request) => getApi(request).memories(request.query));
};
