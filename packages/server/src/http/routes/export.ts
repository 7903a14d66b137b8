import { ExportedDecline, ExportedMemory, ExportHeader, ScopeRequest } from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';
import { answers } from '../answers.ts';
import { sendDownload, sendHead } from '../download.ts';
import { goneSignal } from '../gone-signal.ts';
import { nameNow } from './backup.ts';
import type { Route } from './route.ts';

const config = { access: 'read', heavy: 'copy', refusesForeignPages: true } as const;

const NDJSON = 'application/x-ndjson';
const HEADERS = { 'Content-Type': NDJSON, 'Cache-Control': 'no-store' };

/** About how many characters of lines go out together. */
const PIECE_CHARS = 64 * 1024;

const Line = Type.Unsafe<string>(Type.Union([ExportHeader, ExportedMemory, ExportedDecline]));

export const exportMemories: Route = (app, { getApi, gate }) => {
  const schema = {
    operationId: 'exportMemories',
    summary: 'Every memory, with its history and links',
    description:
      'One JSON value a line: what the file is, then the memories as they are at one moment, in order of arrival, hidden ' +
      'ones too. `POST /import` takes it.',
    tags: ['memories'],
    querystring: ScopeRequest,
    response: {
      ...answers(Line),
      200: { description: 'A JSON value a line.', content: { [NDJSON]: { schema: Line } } },
    },
  };
  app.get('/export', { schema, config }, async (request, reply) => {
    if (request.method === 'HEAD') return sendHead(reply, HEADERS);
    const lines = getApi(request).exportMemories(request.query, goneSignal(reply.raw))[Symbol.asyncIterator]();
    // What keeps it from beginning is an answer like any other.
    const first = await lines.next();
    reply.headers({ ...HEADERS, 'Content-Disposition': `attachment; filename="${nameNow('ndjson')}"` });
    return sendDownload(gate, request, reply, together(first, lines));
  });
};

/** Lines with their ends, many at a time. */
async function* together(first: IteratorResult<string>, rest: AsyncIterator<string>): AsyncIterable<string> {
  let piece = '';
  try {
    for (let line = first; !line.done; line = await rest.next()) {
      piece += `${line.value}\n`;
      if (piece.length < PIECE_CHARS) continue;
      yield piece;
      piece = '';
    }
    yield piece;
  } finally {
    await rest.return?.();
  }
}
