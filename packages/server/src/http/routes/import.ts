import { ExportedMemory, getLines, ImportResponse, LIMITS, OwnScopeRequest } from '@memoryd/contract';
import { NDJSON_TYPES } from '../batch-body.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import { getStreamedBody, registerStreamed } from '../streamed-body.ts';
import type { Route } from './route.ts';

const config = { access: 'write', longBody: true, heavy: 'import', refusesForeignPages: true } as const;

const lines = { schema: { ...ExportedMemory, description: 'One memory per line, after a header.' } };

export const importMemories: Route = (app, context) => {
  const schema = {
    operationId: 'importMemories',
    summary: 'Import exported memories',
    description:
      'Accepts the output of `GET /export`, of any length. Each memory is stored completely, or refused. A memory that ' +
      'already exists is left unchanged, so an interrupted import can be sent again from the beginning. A memory keeps ' +
      'its id, unless the id belongs to another user or agent: then it is stored under a new id, which `new_ids` names.',
    tags: ['memories'],
    querystring: OwnScopeRequest,
    body: { content: Object.fromEntries(NDJSON_TYPES.map((type) => [type, lines])) },
    response: createResponseSchemas(ImportResponse, 'PAYLOAD_TOO_LARGE'),
  };
  registerStreamed(app, (scope) => {
    scope.post('/import', { schema, config }, (request, reply) => {
      const lines = getLines(getStreamedBody(request, reply, context), LIMITS.exportLineBytes);
      return context.getApi(request).importMemories(lines, request.query);
    });
  });
};
