import { ConsolidateRequest, ConsolidateResponse } from '@memoryd/contract';
import { refuseBody } from '../json-body.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import type { Route } from './route.ts';

const config = { access: 'operate', heavy: 'consolidation' } as const;

export const consolidate: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'consolidateMemories',
    summary: 'Run a consolidation now: promote, merge, distil and expire memories',
    description:
      'Waits for a current run, and then starts a new run or joins one that has not started. Takes no body, or `{}`. ' +
      '`dry_run=true` returns the planned changes without waiting for a run. May respond with `NOT_FOUND` if the namespace ' +
      'is deleted during the run.',
    tags: ['service'],
    querystring: ConsolidateRequest,
    response: createResponseSchemas(ConsolidateResponse, 'NOT_FOUND'),
  };
  app.post('/consolidate', { schema, config, preValidation: refuseBody }, (request) =>
    getApi(request).consolidate(request.query),
  );
};
