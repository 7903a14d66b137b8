import { MemoriesRequest, MemoriesResponse } from '@memoryd/contract';
import { answers } from '../answers.ts';
import type { Route } from './route.ts';

export const memories: Route = (app, { api }) => {
  const schema = {
    operationId: 'memories',
    summary: 'The memories that pass a filter, newest first',
    tags: ['memories'],
    querystring: MemoriesRequest,
    response: answers(MemoriesResponse),
  };
  app.get('/memories', { schema, config: { heavy: 'list' } }, (request) => api.memories(request.query));
};
