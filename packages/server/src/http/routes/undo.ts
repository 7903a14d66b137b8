import { UndoRequest, UndoResponse } from '@memoryd/contract';
import { refuseBody } from '../json-body.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import { ConsolidationPath } from './parameters.ts';
import type { Route } from './route.ts';

const config = { access: 'operate', heavy: 'consolidation', refusesForeignPages: true } as const;

export const undo: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'undoConsolidation',
    summary: 'Undo a consolidation',
    description:
      'Runs are undone newest first: an undo is refused while a later run that changed something is not undone. ' +
      '`with_later=true` undoes these later runs too, each completely, before the run itself; no run starts in between. ' +
      'If one of them cannot be undone, the undo stops there with 409, and `details` lists the runs that were undone. ' +
      'Takes no body, or `{}`. Merged and evicted memories return to recall, promoted ones become working memories ' +
      'again, and the remaining ' +
      'memories of merges get their earlier tags, importance and use counts back. New semantic memories are deleted, ' +
      'rewritten ones get their earlier texts and sources back, and detected corrections are dropped. Memories that were ' +
      'forgotten since stay forgotten. `memory_id` undoes only the changes of one memory, in any order of runs that changed ' +
      'other memories: the rest of the run stays, and the undone changes are no longer listed. A memory that was ' +
      'merged is not merged again until it or a duplicate changes.',
    tags: ['service'],
    params: ConsolidationPath,
    querystring: UndoRequest,
    response: createResponseSchemas(UndoResponse, 'NOT_FOUND', 'CONFLICT'),
  };
  app.post('/consolidations/:id/undo', { schema, config, preValidation: refuseBody }, (request) =>
    getApi(request).undo(request.params.id, request.query),
  );
};
