import { ConsolidateRequest, ConsolidateResponse } from '@memoryd/contract';
import { answers } from '../answers.ts';
import { refuseBody } from '../json-body.ts';
import type { Route } from './route.ts';

const config = { access: 'operate', heavy: 'consolidation' } as const;

export const consolidate: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'consolidate',
    summary: 'Promote, merge, distil and expire now',
    description:
      'Waits for a run under way and then makes, or shares, a new one. Takes no body, or `{}`. `dry_run=true` answers what ' +
      'would happen, and waits for no run.',
    tags: ['service'],
    querystring: ConsolidateRequest,
    response: answers(ConsolidateResponse),
  };
  app.post('/consolidate', { schema, config, preValidation: refuseBody }, (request) =>
    getApi(request).consolidate(request.query),
  );
};
