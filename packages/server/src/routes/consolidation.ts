import { ConsolidationResponse } from '@memoryd/contract';
import { answers } from '../answers.ts';
import { ConsolidationPath, PageQuery } from './parameters.ts';
import type { Route } from './route.ts';

export const consolidation: Route = (app, { api }) => {
  const schema = {
    operationId: 'consolidation',
    summary: 'One consolidation with what it did',
    tags: ['service'],
    params: ConsolidationPath,
    querystring: PageQuery,
    response: answers(ConsolidationResponse, 'NOT_FOUND'),
  };
  app.get('/consolidations/:id', { schema, config: { heavy: 'list' } }, (request) =>
    api.consolidation({ ...request.query, ...request.params }),
  );
};
