import { Type } from '@memoryd/contract/typebox';
import { answers } from '../answers.ts';
import { getAudit } from '../audited-request.ts';
import { sendDownload, sendHead } from '../download.ts';
import { goneSignal } from '../gone-signal.ts';
import { NoQuery } from './parameters.ts';
import type { Route } from './route.ts';

const config = { access: 'operate', heavy: 'copy', refusesForeignPages: true } as const;

const SQLITE = 'application/vnd.sqlite3';
const HEADERS = { 'Content-Type': SQLITE, 'Cache-Control': 'no-store' };

const File = Type.Unsafe<string>({ type: 'string', format: 'binary', description: 'An SQLite database.' });

export const backup: Route = (app, { engine, gate, telemetry }) => {
  const schema = {
    operationId: 'backup',
    summary: 'A copy of the whole database',
    description:
      'All namespaces as they are at one moment, while others read and write. `Content-Length` and `Repr-Digest` tell a ' +
      'whole copy from a part. A memory that is forgotten while the copy is made is purged from the database afterwards. ' +
      'Not found where the service keeps its memories on a PostgreSQL server, which is backed up with its own tools.',
    tags: ['service'],
    querystring: NoQuery,
    response: {
      ...answers(File, 'NOT_FOUND'),
      200: {
        description: 'The database file.',
        headers: {
          'Content-Length': { type: 'integer', description: 'Its bytes.' },
          'Repr-Digest': { type: 'string', description: 'Their SHA-256 (RFC 9530).' },
          'Content-Disposition': { type: 'string', description: 'A name for the file, with the time.' },
        },
        content: { [SQLITE]: { schema: File } },
      },
    },
  };
  app.get('/backup', { schema, config }, async (request, reply) => {
    if (request.method === 'HEAD') return sendHead(reply, HEADERS);
    const copy = await engine.backup(goneSignal(reply.raw));
    getAudit(request, telemetry, 'backed_up', { bytes: copy.sizeBytes });
    // Only a copy that was read to its end is a backup. The next one is noted where this fails.
    reply.raw.once('finish', () => void engine.noteBackup().catch(() => {}));
    reply.headers({
      ...HEADERS,
      'Content-Length': copy.sizeBytes,
      'Content-Disposition': `attachment; filename="${nameNow('db')}"`,
      'Repr-Digest': `sha-256=:${copy.sha256}:`,
    });
    return sendDownload(gate, request, reply, copy.read());
  });
};

/** A name for what is downloaded now. */
export function nameNow(extension: string): string {
  return `memoryd-${new Date().toISOString().replace(/[-:]|\.[0-9]+/g, '')}.${extension}`;
}
