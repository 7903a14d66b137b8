import { RootResponse } from '@memoryd/contract';
import { VERSION } from '../../version.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import { NoQuery } from './parameters.ts';
import type { Route } from './route.ts';

const config = { access: 'read' } as const;

export const root: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'getService',
    summary: 'Status, version and counts by tier. Browsers (Accept: text/html) are redirected to /ui',
    tags: ['service'],
    querystring: NoQuery,
    response: {
      ...createResponseSchemas(RootResponse),
      302: {
        type: 'null',
        'x-response-description': 'Redirect of a browser to the dashboard.',
        headers: { Location: { type: 'string', description: 'Address of the dashboard.' } },
      },
    },
  };
  app.get('/', { schema, config }, async (request) => {
    const { working_count, episodic_count, semantic_count } = await getApi(request).stats();
    return { status: 'running', version: VERSION, working_count, episodic_count, semantic_count };
  });
};
