import { GrowthRequest, GrowthResponse } from '@memoryd/contract';
import { createResponseSchemas } from '../response-schemas.ts';
import type { Route } from './route.ts';

const config = { access: 'read', heavy: 'list' } as const;

export const growth: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'getGrowth',
    summary: 'Count the memories by the period in which they were created',
    tags: ['memories'],
    querystring: GrowthRequest,
    response: createResponseSchemas(GrowthResponse),
  };
  app.get('/growth', { schema, config }, (request) => getApi(request).growth(request.query));
};
