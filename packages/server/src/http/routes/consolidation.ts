import { ConsolidationResponse } from '@memoryd/contract';
import { answers } from '../answers.ts';
import { ConsolidationPath, PageQuery } from './parameters.ts';
import type { Route } from './route.ts';

const config = { access: 'read', heavy: 'list' } as const;

export const consolidation: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'consolidation',
    summary: 'One consolidation with what it did',
    tags: ['service'],
    params: ConsolidationPath,
    querystring: PageQuery,
    response: answers(ConsolidationResponse, 'NOT_FOUND'),
  };
  app.get('/consolidations/:id', { schema, config }, (request) =>
    getApi(request).consolidation({ ...request.query, ...request.params }),
  );
};
