import { createReadStream } from 'node:fs';
import {
  type FileImportResponse,
  getCanonicalTimeZone,
  getLines,
  type ImportFileRequest,
  type ImportResponse,
  invalidRequest,
  LIMITS,
  MemoryError,
  type OwnScopeRequest,
  TIME_ZONE_MUST,
} from '@memoryd/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ForeignFormat } from '../imports/format.ts';
import { importParts } from '../imports/import-parts.ts';
import { parseMap } from '../imports/parse-map.ts';
import { Reader } from '../imports/reader/reader.ts';
import type { ReaderData } from '../imports/reader/reader-messages.ts';
import { assertSize, BYTES_PER_MB, getUploadFolder, withUpload } from '../imports/uploads.ts';
import { onAccessRevoked } from './access-revocation.ts';
import { getBodyChunks } from './body-deadline.ts';
import { createDisconnectSignal } from './disconnect-signal.ts';
import type { App, RouteContext } from './routes/route.ts';
import { untilAborted } from './streamed-body.ts';

type UploadRequest = Omit<ImportFileRequest, 'from'> & { from: ForeignFormat | 'auto' };

/** Imports a file of another program, which is the body of the request. */
export type ImportUpload = (
  request: FastifyRequest,
  reply: FastifyReply,
  query: UploadRequest,
) => Promise<ImportResponse | FileImportResponse>;

/**
 * Returns the function that imports uploads. An import ends early if the client disconnects or loses its access, or if
 * the service stops. A repeated upload continues the import.
 */
export function createUploadImport(app: App, context: RouteContext): ImportUpload {
  const { getApi, settings, telemetry } = context;
  const stopping = new AbortController();
  app.addHook('preClose', async () =>
    stopping.abort(new MemoryError('UNAVAILABLE', 'the service is stopping; repeat the import, which then continues')),
  );
  return async (request, reply, query) => {
    const scope = getOwner(request, query);
    const format = getFormatOptions(query, settings.timezone);
    const maxMb = settings.importMaxMb;
    assertSize(Number(request.headers['content-length'] ?? 0), maxMb);
    const signal = AbortSignal.any([stopping.signal, createEndSignal(request, reply, context)]);
    const chunks = untilAborted(signal, getBodyChunks(request, reply, settings.slowClientSeconds * 1000));
    return withUpload(chunks, { folder: getUploadFolder(settings.database), maxMb }, async (path) => {
      const release = await app.acquireRequestSlot('reading', request, signal);
      const from = query.from === 'auto' ? undefined : query.from;
      const data = { path, name: query.name, from, format, maxZipBytes: maxMb * BYTES_PER_MB };
      try {
        return await withReader(data, signal, reportDefect, (reader) => readUpload(reader, path));
      } finally {
        release();
      }
    });
    async function readUpload(reader: Reader, path: string): Promise<ImportResponse | FileImportResponse> {
      const { from, contentKey } = await reader.open();
      if (from !== 'memoryd') {
        const { dry_run: dryRun, source_user: sourceUser } = query;
        const redact = settings.redact === 'on' || (query.redact ?? settings.redactImports === 'on');
        const reading = { from, name: query.name ?? '', contentKey, read: () => reader.read() };
        return importParts(getApi(request), reading, { scope, dryRun, sourceUser, redact, signal });
      }
      if (query.dry_run) throw createDryRunError();
      const lines = getLines(untilAborted(signal, createReadStream(path)), LIMITS.exportLineBytes);
      return getApi(request).importMemories(lines, scope);
    }
    function reportDefect(error: unknown): void {
      const facts = { request_id: request.id };
      telemetry.report({ level: 'error', component: 'http', event: 'import_file_failed', facts, error });
    }
  };
}

/** Calls `use` with a reader that is stopped afterwards, or when the signal is aborted. */
async function withReader<Result>(
  data: ReaderData,
  signal: AbortSignal,
  onDefect: (error: unknown) => void,
  use: (reader: Reader) => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  const reader = new Reader(data, ({ error }) => onDefect(error));
  const stop = () => reader.stop(signal.reason);
  signal.addEventListener('abort', stop);
  try {
    return await use(reader);
  } finally {
    signal.removeEventListener('abort', stop);
    reader.stop();
  }
}

/**
 * Returns the owner of the memories: the requested one, or the one that the key is bound to. Throws FORBIDDEN for the
 * owner of another key, before the upload is received.
 */
function getOwner({ caller }: FastifyRequest, query: OwnScopeRequest): OwnScopeRequest {
  const bound = { user_id: caller.userId, agent_id: caller.agentId };
  const owner: OwnScopeRequest = {};
  for (const field of ['user_id', 'agent_id'] as const) {
    const id = query[field] ?? bound[field];
    if (bound[field] !== undefined && id !== bound[field]) {
      throw new MemoryError(
        'FORBIDDEN',
        `${field} must match the ${field} that the API key is restricted to, or be omitted`,
      );
    }
    if (id !== undefined) owner[field] = id;
  }
  return owner;
}

function getFormatOptions(
  { map, rest, capture = 'prompts', timezone }: UploadRequest,
  serviceTimeZone = 'UTC',
): ReaderData['format'] {
  const timeZone = getCanonicalTimeZone(timezone ?? serviceTimeZone);
  if (timeZone === undefined) throw invalidRequest([{ path: '/timezone', message: `timezone must ${TIME_ZONE_MUST}` }]);
  return {
    ...{ capture, timeZone, restToMetadata: rest === 'metadata' },
    map: map === undefined ? {} : parseMap(map),
    readsRepositories: false,
  };
}

/** Returns a signal that is aborted when the client disconnects or loses its access. */
function createEndSignal(request: FastifyRequest, reply: FastifyReply, { gate }: RouteContext): AbortSignal {
  const end = new AbortController();
  onAccessRevoked(gate, request, reply, (error) => end.abort(error));
  const abort = () =>
    end.abort(
      invalidRequest([{ path: '', message: 'the client must stay connected until the import ends; repeat it' }]),
    );
  const disconnected = createDisconnectSignal(reply.raw);
  if (disconnected.aborted) abort();
  disconnected.addEventListener('abort', abort);
  return end.signal;
}

function createDryRunError(): MemoryError {
  return invalidRequest([
    { path: '/dry_run', message: 'dry_run must be false for an export of memoryd, whose import has no preview' },
  ]);
}
