import { ExportedMemory, getLines, ImportResponse, LIMITS, OwnScopeRequest } from '@memoryd/contract';
import { onAccessRevoked } from '../access-revocation.ts';
import { NDJSON_TYPES } from '../batch-body.ts';
import { getBodyChunks } from '../body-deadline.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import type { App, Route } from './route.ts';

const config = { access: 'write', longBody: true, heavy: 'import', refusesForeignPages: true } as const;

const lines = { schema: { ...ExportedMemory, description: 'One memory per line, after a header.' } };

export const importMemories: Route = (app, { getApi, gate, settings }) => {
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
  // A separate Fastify scope, because its bodies are streamed, regardless of their content type.
  app.register(async (scope: App) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    scope.post('/import', { schema, config }, (request, reply) => {
      const chunks = getBodyChunks(request, reply, settings.slowClientSeconds * 1000);
      const revocation = new AbortController();
      onAccessRevoked(gate, request, reply, (error) => revocation.abort(error));
      const lines = getLines(untilAborted(revocation.signal, chunks), LIMITS.exportLineBytes);
      return getApi(request).importMemories(lines, request.query);
    });
  });
};

/** Yields the chunks. Throws the signal's reason if the signal is aborted before the end of the chunks. */
async function* untilAborted(signal: AbortSignal, chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  for await (const chunk of chunks) {
    signal.throwIfAborted();
    yield chunk;
  }
  signal.throwIfAborted();
}
