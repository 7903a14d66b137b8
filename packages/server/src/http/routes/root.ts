import { RootResponse } from '@memoryd/contract';
import { VERSION } from '../../version.ts';
import { answers } from '../answers.ts';
import { NoQuery } from './parameters.ts';
import type { Route } from './route.ts';

const config = { access: 'read' } as const;

export const root: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'root',
    summary: 'Status, version and counts by tier',
    tags: ['service'],
    querystring: NoQuery,
    response: answers(RootResponse),
  };
  app.get('/', { schema, config }, async (request) => {
    const { working_count, episodic_count, semantic_count } = await getApi(request).stats();
    return { status: 'running', version: VERSION, working_count, episodic_count, semantic_count };
  });
};
