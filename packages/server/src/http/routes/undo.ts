import { UndoResponse } from '@memoryd/contract';
import { refuseBody } from '../json-body.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import { ConsolidationPath, NoQuery } from './parameters.ts';
import type { Route } from './route.ts';

const config = { access: 'operate', heavy: 'consolidation', refusesForeignPages: true } as const;

export const undo: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'undo',
    summary: 'Undo the newest consolidation',
    description:
      'Merged and evicted memories return to recall, promoted ones become working memories again, and the remaining ' +
      'memories of merges get their earlier tags, importance and use counts back. New semantic memories are deleted, ' +
      'rewritten ones get their earlier texts and sources back, and detected corrections are dropped. Memories that were ' +
      'forgotten since stay forgotten.',
    tags: ['service'],
    params: ConsolidationPath,
    querystring: NoQuery,
    response: createResponseSchemas(UndoResponse, 'NOT_FOUND', 'CONFLICT'),
  };
  app.post('/consolidations/:id/undo', { schema, config, preValidation: refuseBody }, (request) =>
    getApi(request).undo(request.params.id),
  );
};
