import { UndoResponse } from '@memoryd/contract';
import { answers } from '../answers.ts';
import { refuseBody } from '../json-body.ts';
import { ConsolidationPath, NoQuery } from './parameters.ts';
import type { Route } from './route.ts';

const config = { access: 'operate', heavy: 'consolidation', refusesForeignPages: true } as const;

export const undo: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'undo',
    summary: 'Take the newest consolidation back',
    description:
      'Merged and evicted memories come back into recall, promoted ones become working memories again, and survivors of ' +
      'merges have the tags, importance and uses that they had before. Semantic memories that were made go, those that ' +
      'were made anew have their earlier texts and sources, and corrections that were found are dropped. What was ' +
      'forgotten since stays forgotten.',
    tags: ['service'],
    params: ConsolidationPath,
    querystring: NoQuery,
    response: answers(UndoResponse, 'NOT_FOUND', 'CONFLICT'),
  };
  app.post('/consolidations/:id/undo', { schema, config, preValidation: refuseBody }, (request) =>
    getApi(request).undo(request.params.id),
  );
};
