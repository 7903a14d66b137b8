import { UpdateRequest, UpdateResponse } from '@memoryd/contract';
import { answers } from '../answers.ts';
import { WriteHeaders, writeConditionOf } from '../request-headers.ts';
import { MemoryPath, NoQuery } from './parameters.ts';
import type { Route } from './route.ts';

const config = { access: 'write' } as const;

export const update: Route = (app, { apiOf }) => {
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
  app.put('/update/:memory_id', { schema, config }, (request) =>
    apiOf(request).update(request.params.memory_id, request.body, writeConditionOf(request)),
  );
};
