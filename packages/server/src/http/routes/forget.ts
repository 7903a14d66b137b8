import { ForgetManyRequest, ForgetManyResponse, ForgetResponse, OwnScopeRequest } from '@memoryd/contract';
import { refuseBody } from '../json-body.ts';
import { readWriteCondition, WriteHeaders } from '../request-headers.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import { MemoryPath } from './parameters.ts';
import type { Route } from './route.ts';

const config = { access: 'write' } as const;

export const forget: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'forgetMemory',
    summary: 'Delete a memory permanently',
    tags: ['memories'],
    params: MemoryPath,
    headers: WriteHeaders,
    querystring: OwnScopeRequest,
    response: createResponseSchemas(ForgetResponse, 'NOT_FOUND', 'PRECONDITION_FAILED'),
  };
  app.delete('/forget/:memory_id', { schema, config, preValidation: refuseBody }, (request) =>
    getApi(request).forget(request.params.memory_id, { ...request.query, ...readWriteCondition(request) }),
  );
};

export const forgetMany: Route = (app, { getApi }) => {
  const schema = {
    operationId: 'forgetMemories',
    summary: 'Delete all memories that match every given filter',
    tags: ['memories'],
    querystring: ForgetManyRequest,
    response: createResponseSchemas(ForgetManyResponse),
  };
  const many = { ...config, refusesForeignPages: true } as const;
  app.delete('/memories', { schema, config: many, preValidation: refuseBody }, (request) =>
    getApi(request).forgetMany(request.query),
  );
};
