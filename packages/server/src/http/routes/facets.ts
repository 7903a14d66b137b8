import { FacetsRequest, FacetsResponse } from '@memoryd/contract';
import { createResponseSchemas } from '../response-schemas.ts';
import type { Route } from './route.ts';

const config = { access: 'read', heavy: 'list' } as const;

export const facets: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'listFacets',
    summary: 'List the values of a field, most frequent first',
    tags: ['memories'],
    querystring: FacetsRequest,
    response: createResponseSchemas(FacetsResponse),
  };
  app.get('/facets', { schema, config }, (request) => getApi(request).facets(request.query));
};
