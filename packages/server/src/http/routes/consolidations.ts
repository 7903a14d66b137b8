import { ConsolidationsRequest, ConsolidationsResponse } from '@memoryd/contract';
import { answers } from '../answers.ts';
import type { Route } from './route.ts';

const config = { access: 'read', heavy: 'list' } as const;

export const consolidations: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'consolidations',
    summary: 'Past consolidations, newest first',
    tags: ['service'],
    querystring: ConsolidationsRequest,
    response: answers(ConsolidationsResponse),
  };
  app.get('/consolidations', { schema, config }, (request) => getApi(request).consolidations(request.query));
};
