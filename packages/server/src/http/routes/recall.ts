import { RecallRequest, RecallResponse } from '@memoryd/contract';
import { answers } from '../answers.ts';
import type { Route } from './route.ts';

const config = { access: 'read', heavy: 'recall' } as const;

export const recall: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'recall',
    summary: 'Recall the memories that answer a query best',
    tags: ['memories'],
    querystring: RecallRequest,
    response: answers(RecallResponse),
  };
  app.get('/recall', { schema, config }, (request) => getApi(request).recall(request.query));
};
