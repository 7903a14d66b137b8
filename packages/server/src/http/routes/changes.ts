import {
  ChangePath,
  MemoryChanges,
  MemorySelection,
  OwnScopeRequest,
  UndoChangeResponse,
  UpdateManyResponse,
} from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';
import { refuseBody } from '../json-body.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import type { Route } from './route.ts';

const { ids, ...conditions } = MemorySelection.properties;

/** The conditions of a selection, in the query string as in `GET /memories`. */
const UpdateManyQuery = Type.Object(conditions, { additionalProperties: false });

/** The changes, and the ids of the selection, which may be too many for a URL. */
export const UpdateManyBody = Type.Object({ ids, ...MemoryChanges.properties }, { additionalProperties: false });

const config = { access: 'write', refusesForeignPages: true } as const;

/** `PATCH /memories` and its undo. */
export const changes: Route = (app, { getApi }) => {
  const update = {
    operationId: 'updateMemories',
    summary: 'Change all memories that match every given condition',
    tags: ['memories'],
    querystring: UpdateManyQuery,
    body: UpdateManyBody,
    response: createResponseSchemas(UpdateManyResponse, 'NOT_FOUND', 'CONFLICT'),
  };
  app.patch('/memories', { schema: update, config }, (request) => {
    const { ids, ...changes } = request.body;
    return getApi(request).updateMany({ ...request.query, ...(ids && { ids }) }, changes);
  });

  const undo = {
    operationId: 'undoChange',
    summary: 'Undo a change of many memories',
    tags: ['memories'],
    params: ChangePath,
    querystring: OwnScopeRequest,
    response: createResponseSchemas(UndoChangeResponse, 'NOT_FOUND', 'CONFLICT'),
  };
  app.post('/changes/:id/undo', { schema: undo, config, preValidation: refuseBody }, (request) =>
    getApi(request).undoChange(request.params.id, request.query),
  );
};
