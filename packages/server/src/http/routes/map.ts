import { MapRequest, MapResponse } from '@memoryd/contract';
import { sendJsonInParts } from '../json-in-parts.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import type { Route } from './route.ts';

const config = { access: 'read', heavy: 'list' } as const;

export const map: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'getMap',
    summary: 'Return places of the memories that match a filter',
    tags: ['memories'],
    querystring: MapRequest,
    response: createResponseSchemas(MapResponse),
  };
  app.get('/map', { schema, config }, async (request, reply) => {
    const { points, ...map } = await getApi(request).map(request.query);
    return sendJsonInParts(reply, map, 'points', points);
  });
};
