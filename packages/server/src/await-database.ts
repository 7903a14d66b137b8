import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { MemoryError } from '@memoryd/contract';
import type { Engine, Telemetry } from '@memoryd/engine';
import { errorBody, RETRY_AFTER_SECONDS } from './http/errors.ts';
import { UNKNOWN_COUNTS } from './http/routes/health.ts';
import { listenOn } from './listen.ts';
import { openDatabase } from './open-database.ts';
import type { Settings } from './settings/read.ts';
import { VERSION } from './version.ts';

/** How often it is tried whether the database is there. */
const TRIED_EVERY_MS = 1000;

/**
 * Opens the database of the settings. While its server is not there, or not yet, waits for it, however long: requests are
 * answered meanwhile, `/livez` with 200, `/health` and `/readyz` as unhealthy, and all else with UNAVAILABLE. Rejects at
 * once for what no waiting mends.
 */
export async function awaitDatabase(settings: Settings, telemetry: Telemetry): Promise<Engine> {
  let opened = await openUnlessAway(settings, telemetry);
  if (!(opened instanceof MemoryError)) return opened;
  const server = await answerMeanwhile(settings);
  try {
    let reported: string | undefined;
    while (opened instanceof MemoryError) {
      const { message } = opened;
      if (message !== reported) {
        telemetry.report({ level: 'warn', component: 'server', event: 'database_awaited', facts: { message } });
        reported = message;
      }
      await delay(TRIED_EVERY_MS);
      opened = await openUnlessAway(settings, telemetry);
    }
    return opened;
  } finally {
    await close(server);
  }
}

/** Returns the engine, or the error that says why its database is away. */
async function openUnlessAway(settings: Settings, telemetry: Telemetry): Promise<Engine | MemoryError> {
  try {
    return await openDatabase(settings, telemetry);
  } catch (error) {
    if (error instanceof MemoryError && error.isAway) return error;
    throw error;
  }
}

async function answerMeanwhile(settings: Settings): Promise<Server> {
  const startedMs = performance.now();
  const server = createServer((request, response) => {
    const path = request.url?.split('?', 1)[0] ?? '';
    const id = randomUUID();
    const [status, body] = answerTo(path, id, Math.floor((performance.now() - startedMs) / 1000));
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

function answerTo(path: string, requestId: string, uptime_seconds: number): [status: number, body: object] {
  const facts = { version: VERSION, uptime_seconds };
  if (path === '/livez') return [200, { status: 'alive', ...facts }];
  if (path !== '/health' && path !== '/readyz')
    return [503, errorBody(new MemoryError('UNAVAILABLE', REASON), requestId)];
  const away = { db_connected: false, ...UNKNOWN_COUNTS, embedder: 'off' };
  return [503, { status: 'unhealthy', reason: REASON, ...facts, ...away }];
}

/** What the log says of the reason names the host of the database, which is nothing for callers. */
const REASON = 'the database is not there, or not yet; the log says why';

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
