import { HistoryRequest, HistoryResponse } from '@memoryd/contract';
import { answers } from '../answers.ts';
import { MemoryPath } from './parameters.ts';
import type { Route } from './route.ts';

const config = { access: 'read', heavy: 'list' } as const;

export const history: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'history',
    summary: 'Every text that a memory has had, oldest first',
    description: 'With `as_of`, the text of that time alone; NOT_FOUND before the memory was stored.',
    tags: ['memories'],
    params: MemoryPath,
    querystring: HistoryRequest,
    response: answers(HistoryResponse, 'NOT_FOUND'),
  };
  app.get('/memories/:memory_id/history', { schema, config }, (request) =>
    getApi(request).history(request.params.memory_id, request.query),
  );
};
