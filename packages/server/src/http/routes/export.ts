import { ExportLine, ExportRequest } from '@memoryd/contract';
import { createDisconnectSignal } from '../disconnect-signal.ts';
import { sendDownload, sendHead } from '../download.ts';
import { createLinesSchema, NDJSON } from '../lines-body.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import { createFileName } from './backup.ts';
import type { Route } from './route.ts';

const config = { access: 'read', heavy: 'copy', refusesForeignPages: true } as const;

const HEADERS = { 'Content-Type': NDJSON, 'Cache-Control': 'no-store' };

/** Approximate size of a written chunk, in characters. */
const CHUNK_CHARS = 64 * 1024;

const Lines = createLinesSchema(ExportLine, 'ExportLine');

export const exportMemories: Route = (app, { getApi, gate }) => {
  const schema = {
    operationId: 'exportMemories',
    summary: 'Export memories with their history and links',
    description:
      'One JSON value per line: a header, then a consistent snapshot of the memories in order of arrival, including hidden ' +
      'ones. `POST /import` accepts this format.',
    tags: ['memories'],
    querystring: ExportRequest,
    response: {
      ...createResponseSchemas(Lines),
      200: { description: 'The export.', content: { [NDJSON]: { schema: Lines } } },
    },
  };
  app.get('/export', { schema, config }, async (request, reply) => {
    if (request.method === 'HEAD') return sendHead(reply, HEADERS);
    const lines = getApi(request)
      .exportMemories(request.query, createDisconnectSignal(reply.raw))
      [Symbol.asyncIterator]();
    // The first line is read before the response begins, so that an error of this read gets a normal error response.
    const first = await lines.next();
    reply.headers({ ...HEADERS, 'Content-Disposition': `attachment; filename="${createFileName('ndjson')}"` });
    return sendDownload(gate, request, reply, toChunks(first, lines));
  });
};

/** Joins lines, each with a line end, into chunks of about `CHUNK_CHARS`. */
async function* toChunks(first: IteratorResult<string>, rest: AsyncIterator<string>): AsyncIterable<string> {
  let chunk = '';
  try {
    for (let line = first; !line.done; line = await rest.next()) {
      chunk += `${line.value}\n`;
      if (chunk.length < CHUNK_CHARS) continue;
      yield chunk;
      chunk = '';
    }
    yield chunk;
  } finally {
    await rest.return?.();
  }
}
