import { Type } from '@memoryd/contract/typebox';
import { auditRequest } from '../audited-request.ts';
import { createDisconnectSignal } from '../disconnect-signal.ts';
import { sendDownload, sendHead } from '../download.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import { NoQuery } from './parameters.ts';
import type { Route } from './route.ts';

const config = { access: 'operate', heavy: 'copy', refusesForeignPages: true } as const;

const SQLITE = 'application/vnd.sqlite3';
const HEADERS = { 'Content-Type': SQLITE, 'Cache-Control': 'no-store' };

const File = Type.Unsafe<string>({ type: 'string', format: 'binary', description: 'An SQLite database.' });

export const backup: Route = (app, { engine, gate, telemetry }) => {
  const schema = {
    operationId: 'downloadBackup',
    summary: 'Download a copy of the whole database',
    description:
      'A consistent snapshot of all namespaces, taken while other requests read and write. Check with `Content-Length` and ' +
      '`Repr-Digest` that the copy is complete. A memory that is forgotten while the copy is made is purged from the ' +
      'database afterwards. Returns NOT_FOUND with a PostgreSQL database; back it up with its own tools.',
    tags: ['service'],
    querystring: NoQuery,
    response: {
      ...createResponseSchemas(File, 'NOT_FOUND'),
      200: {
        description: 'The database file.',
        headers: {
          'Content-Length': { type: 'integer', description: 'Size of the file in bytes.' },
          'Repr-Digest': { type: 'string', description: 'SHA-256 of the file (RFC 9530).' },
          'Content-Disposition': { type: 'string', description: 'A file name with the time.' },
        },
        content: { [SQLITE]: { schema: File } },
      },
    },
  };
  app.get('/backup', { schema, config }, async (request, reply) => {
    if (request.method === 'HEAD') return sendHead(reply, HEADERS);
    const copy = await engine.backup(createDisconnectSignal(reply.raw));
    auditRequest(request, telemetry, 'backed_up', { bytes: copy.sizeBytes });
    // The time of the backup is recorded only if the whole copy was sent. An error is ignored, because the next backup
    // is recorded anyway.
    reply.raw.once('finish', () => void engine.recordBackup().catch(() => {}));
    reply.headers({
      ...HEADERS,
      'Content-Length': copy.sizeBytes,
      'Content-Disposition': `attachment; filename="${createFileName('db')}"`,
      'Repr-Digest': `sha-256=:${copy.sha256}:`,
    });
    return sendDownload(gate, request, reply, copy.read());
  });
};

/** Returns a file name for a download, with the current time in UTC, such as `memoryd-20260131T093000Z.db`. */
export function createFileName(extension: string): string {
  return `memoryd-${new Date().toISOString().replace(/[-:]|\.[0-9]+/g, '')}.${extension}`;
}
