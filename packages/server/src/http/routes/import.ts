import { ExportedMemory, getLines, ImportResponse, LIMITS, OwnScopeRequest } from '@memoryd/contract';
import { answers } from '../answers.ts';
import { NDJSON_TYPES } from '../batch-body.ts';
import { getPieces } from '../body-deadline.ts';
import { whenExpelled } from '../expelled.ts';
import type { App, Route } from './route.ts';

const config = { access: 'write', longBody: true, heavy: 'import', refusesForeignPages: true } as const;

const lines = { schema: { ...ExportedMemory, description: 'One memory a line, after a header.' } };

export const importMemories: Route = (app, { getApi, gate, settings }) => {
  const schema = {
    operationId: 'importMemories',
    summary: 'Keep what was exported',
    description:
      'Takes what `GET /export` answers, of any length. Each memory is kept whole under its id, or refused; one that is ' +
      'there already stays as it is, so that an import that was cut off is sent again from the beginning.',
    tags: ['memories'],
    querystring: OwnScopeRequest,
    body: { content: Object.fromEntries(NDJSON_TYPES.map((type) => [type, lines])) },
    response: answers(ImportResponse, 'PAYLOAD_TOO_LARGE'),
  };
  // A scope of its own, for its bodies are read as they come, whatever their content type.
  app.register(async (scope: App) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    scope.post('/import', { schema, config }, (request, reply) => {
      const pieces = getPieces(request, reply, settings.slowClientSeconds * 1000);
      const refusal = new AbortController();
      whenExpelled(gate, request, reply, (error) => refusal.abort(error));
      const lines = getLines(until(refusal.signal, pieces), LIMITS.exportLineBytes);
      return getApi(request).importMemories(lines, request.query);
    });
  });
};

/** The pieces of a body, unless a signal comes before its end, whose reason is then thrown. */
async function* until(signal: AbortSignal, pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  for await (const piece of pieces) {
    signal.throwIfAborted();
    yield piece;
  }
  signal.throwIfAborted();
}
