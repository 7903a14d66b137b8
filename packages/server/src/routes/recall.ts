import { RecallRequest, RecallResponse } from '@memoryd/contract';
import { answers } from '../answers.ts';
import type { Route } from './route.ts';

export const recall: Route = (app, { api }) => {
  const schema = {
    operationId: 'recall',
    summary: 'Recall the memories that answer a query best',
    tags: ['memories'],
    querystring: RecallRequest,
    response: answers(RecallResponse),
  };
  app.get('/recall', { schema, config: { heavy: 'recall' } }, (request) => api.recall(request.query));
};
