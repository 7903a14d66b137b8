import { OwnScopeRequest, UpdateRequest, UpdateResponse } from '@memoryd/contract';
import { readWriteCondition, WriteHeaders } from '../request-headers.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import { MemoryPath } from './parameters.ts';
import type { Route } from './route.ts';

const config = { access: 'write' } as const;

export const update: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'updateMemory',
    summary: 'Update a memory',
    tags: ['memories'],
    params: MemoryPath,
    headers: WriteHeaders,
    querystring: OwnScopeRequest,
    body: UpdateRequest,
    response: createResponseSchemas(UpdateResponse, 'NOT_FOUND', 'CONFLICT', 'PRECONDITION_FAILED'),
  };
  app.put('/update/:memory_id', { schema, config }, (request) =>
    getApi(request).update(request.params.memory_id, request.body, {
      ...request.query,
      ...readWriteCondition(request),
    }),
  );
};
