import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { MemoryError } from '@memoryd/contract';
import type { Engine, Telemetry, TelemetryEvent } from '@memoryd/engine';
import { getMessage } from './error-text.ts';
import { errorBody, RETRY_AFTER_SECONDS } from './http/errors.ts';
import { MalformedHttp } from './http/malformed-http.ts';
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
  const changes = new ChangesOnly(telemetry);
  let opened = await tryOpenDatabase(settings, changes);
  if (!(opened instanceof MemoryError)) return changes.end(opened);
  const server = await startPlaceholderServer(settings);
  try {
    while (opened instanceof MemoryError) {
      const { message } = opened;
      changes.report({ level: 'warn', component: 'server', event: 'database_awaited', facts: { message } });
      await delay(RETRY_INTERVAL_MS);
      opened = await tryOpenDatabase(settings, changes);
    }
    return changes.end(opened);
  } finally {
    await close(server);
  }
}

/** Reports an event only if its facts or its error have changed, because each attempt to open the database reports the same events. */
class ChangesOnly implements Telemetry {
  readonly #telemetry: Telemetry;
  readonly #last = new Map<string, string>();
  #hasEnded = false;

  constructor(telemetry: Telemetry) {
    this.#telemetry = telemetry;
  }

  report(event: TelemetryEvent): void {
    const content = JSON.stringify([event.facts, event.error === undefined ? null : getMessage(event.error)]);
    if (!this.#hasEnded && this.#last.get(event.event) === content) return;
    this.#last.set(event.event, content);
    this.#telemetry.report(event);
  }

  /** Reports all events from now on. Returns its argument. */
  end(opened: Engine): Engine {
    this.#hasEnded = true;
    return opened;
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
  const malformedHttp = new MalformedHttp();
  server.on('clientError', (error, socket: Socket) => malformedHttp.respond(error, socket));
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
