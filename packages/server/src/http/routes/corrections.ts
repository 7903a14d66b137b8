import {
  CorrectionPath,
  CorrectionsRequest,
  CorrectionsResponse,
  DecideCorrectionRequest,
  DecideCorrectionResponse,
  OwnScopeRequest,
} from '@memoryd/contract';
import { createResponseSchemas } from '../response-schemas.ts';
import type { Route } from './route.ts';

/** `/corrections`: the corrections that consolidation suggests. */
export const corrections: Route = (app, { getApi }) => {
  const list = {
    operationId: 'listCorrections',
    summary: 'List suggested corrections, latest first',
    description:
      'Consolidation suggests pairs of memories of one user and agent of which the later one seems to correct the earlier ' +
      'one. A suggestion changes nothing by itself. A pending pair disappears once one of its memories is forgotten, ' +
      'changed in its text, superseded, merged, evicted or given an end. Needs `write`, as a decision does.',
    tags: ['memories'],
    querystring: CorrectionsRequest,
    response: createResponseSchemas(CorrectionsResponse),
  };
  app.get('/corrections', { schema: list, config: { access: 'write', heavy: 'list' } }, (request) =>
    getApi(request).corrections(request.query),
  );

  const decide = {
    operationId: 'decideCorrection',
    summary: 'Accept or decline a suggested correction',
    description:
      'Accepting makes the later memory supersede the earlier one, as an update with `supersedes` does. Declining an ' +
      'accepted correction undoes the acceptance: it removes the link, whatever consolidations came later. A declined ' +
      'pair is not suggested again, but can still be accepted.',
    tags: ['memories'],
    params: CorrectionPath,
    querystring: OwnScopeRequest,
    body: DecideCorrectionRequest,
    response: createResponseSchemas(DecideCorrectionResponse, 'NOT_FOUND', 'CONFLICT'),
  };
  app.post('/corrections/:id', { schema: decide, config: { access: 'write' } }, (request) =>
    getApi(request).decideCorrection(request.params.id, request.body, request.query),
  );
};
