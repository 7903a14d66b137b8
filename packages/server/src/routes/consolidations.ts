import { ConsolidationsRequest, ConsolidationsResponse } from '@memoryd/contract';
import { answers } from '../answers.ts';
import type { Route } from './route.ts';

export const consolidations: Route = (app, { api }) => {
  const schema = {
    operationId: 'consolidations',
    summary: 'Past consolidations, newest first',
    tags: ['service'],
    querystring: ConsolidationsRequest,
    response: answers(ConsolidationsResponse),
  };
  app.get('/consolidations', { schema, config: { heavy: 'list' } }, (request) => api.consolidations(request.query));
};
