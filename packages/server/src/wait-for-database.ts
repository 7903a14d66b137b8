import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { MemoryError } from '@memoryd/contract';
import type { Engine, Telemetry } from '@memoryd/engine';
import { errorBody, RETRY_AFTER_SECONDS } from './http/errors.ts';
import { NOTHING_READ } from './http/routes/health.ts';
import { listenOn } from './listen.ts';
import { openDatabase } from './open-database.ts';
import type { Settings } from './settings/read.ts';
import { VERSION } from './version.ts';

/** Interval between connection attempts. */
const RETRY_INTERVAL_MS = 1000;

/**
 * Opens the database that the settings name. While the database server is unreachable, retries without limit and serves
 * placeholder responses: `/livez` with 200, `/health` and `/readyz` as unhealthy, and all other paths with UNAVAILABLE.
 * Rejects at once on errors that a retry cannot fix.
 */
export async function waitForDatabase(settings: Settings, telemetry: Telemetry): Promise<Engine> {
  let opened = await tryOpenDatabase(settings, telemetry);
  if (!(opened instanceof MemoryError)) return opened;
  const server = await startPlaceholderServer(settings);
  try {
    let reported: string | undefined;
    while (opened instanceof MemoryError) {
      const { message } = opened;
      if (message !== reported) {
        telemetry.report({ level: 'warn', component: 'server', event: 'database_awaited', facts: { message } });
        reported = message;
      }
      await delay(RETRY_INTERVAL_MS);
      opened = await tryOpenDatabase(settings, telemetry);
    }
    return opened;
  } finally {
    await close(server);
  }
}

/** Returns the engine, or the error if the database server is unreachable. */
async function tryOpenDatabase(settings: Settings, telemetry: Telemetry): Promise<Engine | MemoryError> {
  try {
    return await openDatabase(settings, telemetry);
  } catch (error) {
    if (error instanceof MemoryError && error.isDatabaseDown) return error;
    throw error;
  }
}

async function startPlaceholderServer(settings: Settings): Promise<Server> {
  const startedMs = performance.now();
  const server = createServer((request, response) => {
    const path = request.url?.split('?', 1)[0] ?? '';
    const id = randomUUID();
    const [status, body] = getResponse(path, id, Math.floor((performance.now() - startedMs) / 1000));
    response.writeHead(status, {
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': id,
      ...(status === 503 && { 'retry-after': String(RETRY_AFTER_SECONDS) }),
    });
    response.end(request.method === 'HEAD' ? undefined : JSON.stringify(body));
  });
  server.maxConnections = settings.maxConnections;
  await listenOn(async (at) => {
    server.listen(at);
    await once(server, 'listening');
  }, settings);
  return server;
}

function getResponse(path: string, requestId: string, uptime_seconds: number): [status: number, body: object] {
  const facts = { version: VERSION, uptime_seconds };
  if (path === '/livez') return [200, { status: 'alive', ...facts }];
  if (path !== '/health' && path !== '/readyz')
    return [503, errorBody(new MemoryError('UNAVAILABLE', REASON), requestId)];
  const unavailable = { checked_at: null, db_connected: false, ...NOTHING_READ, embedder: 'off' };
  return [503, { status: 'unhealthy', reason: REASON, ...facts, ...unavailable }];
}

/** The underlying message goes only to the log, because it names the database host. */
const REASON = 'the database server is unreachable; retry later, and see the log for the cause';

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
