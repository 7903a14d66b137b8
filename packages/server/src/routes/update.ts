import { UpdateRequest, UpdateResponse } from '@memoryd/contract';
import { answers } from '../answers.ts';
import { WriteHeaders, writeConditionOf } from '../request-headers.ts';
import { MemoryPath, NoQuery } from './parameters.ts';
import type { Route } from './route.ts';

export const update: Route = (app, { api }) => {
  const schema = {
    operationId: 'update',
    summary: 'Change a memory',
    tags: ['memories'],
    params: MemoryPath,
    headers: WriteHeaders,
    querystring: NoQuery,
    body: UpdateRequest,
    response: answers(UpdateResponse, 'NOT_FOUND', 'PRECONDITION_FAILED'),
  };
  app.put('/update/:memory_id', { schema }, (request) =>
    api.update(request.params.memory_id, request.body, writeConditionOf(request)),
  );
};
