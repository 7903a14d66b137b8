import { randomUUID } from 'node:crypto';
import cors from '@fastify/cors';
import swagger from '@fastify/swagger';
import { DEFAULTS, MemoryError } from '@memoryd/contract';
import type { Engine, Telemetry } from '@memoryd/engine';
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { accessCheck } from './access.ts';
import { ERROR_SCHEMA } from './answers.ts';
import { limitBodyTime } from './body-deadline.ts';
import { allowedOrigins, corsOptions, refuseForeignWrite } from './cross-origin.ts';
import { registerDocsPages } from './docs-pages.ts';
import { answerMalformedHttp, errorHandler } from './errors.ts';
import { readJsonBodies } from './json-body.ts';
import type { Metrics } from './metrics.ts';
import { openApiOptions } from './openapi.ts';
import { backup } from './routes/backup.ts';
import { consolidate } from './routes/consolidate.ts';
import { consolidation } from './routes/consolidation.ts';
import { consolidations } from './routes/consolidations.ts';
import { events } from './routes/events.ts';
import { exportMemories } from './routes/export.ts';
import { forget, forgetMany } from './routes/forget.ts';
import { health } from './routes/health.ts';
import { history } from './routes/history.ts';
import { importMemories } from './routes/import.ts';
import { memories } from './routes/memories.ts';
import { memory } from './routes/memory.ts';
import { metrics } from './routes/metrics.ts';
import { recall } from './routes/recall.ts';
import { root } from './routes/root.ts';
import type { App } from './routes/route.ts';
import { session } from './routes/session.ts';
import { sessions } from './routes/sessions.ts';
import { stats } from './routes/stats.ts';
import { store } from './routes/store.ts';
import { storeBatch } from './routes/store-batch.ts';
import { undo } from './routes/undo.ts';
import { update } from './routes/update.ts';
import type { Settings } from './settings.ts';
import { compileValidator, type RawQuery } from './validation.ts';

const ROUTES = [
  root,
  store,
  storeBatch,
  recall,
  session,
  sessions,
  memory,
  history,
  memories,
  update,
  forget,
  forgetMany,
  consolidate,
  consolidations,
  consolidation,
  undo,
  events,
  exportMemories,
  importMemories,
  backup,
  stats,
  health,
  metrics,
];

const LIMITS = {
  /** A query of 8,192 characters takes up to 12 bytes a character when percent-encoded. */
  urlAndHeadersBytes: 256 * 1024,
  connections: 1024,
  headersTimeoutMs: 20_000,
  /** Without a byte either way; longer than any answer takes, consolidations of a large database included. */
  silentConnectionTimeoutMs: 600_000,
  keepAliveTimeoutMs: 72_000,
};

export interface AppOptions {
  settings: Pick<Settings, 'host' | 'corsOrigins' | 'production' | 'maxBodyBytes' | 'maxBatchBodyBytes'>;
  engine: Engine;
  metrics: Metrics;
  telemetry: Telemetry;
}

/** The HTTP application over an engine, not yet listening. Closing it leaves the engine open. */
export async function buildApp({ settings, engine, metrics, telemetry }: AppOptions): Promise<App> {
  const onError = errorHandler(telemetry);
  const app: App = Fastify({
    bodyLimit: settings.maxBodyBytes,
    genReqId: () => randomUUID(),
    routerOptions: {
      maxParamLength: LIMITS.urlAndHeadersBytes,
      querystringParser: (raw): Record<keyof RawQuery, string> => ({ raw }),
    },
    connectionTimeout: LIMITS.silentConnectionTimeoutMs,
    keepAliveTimeout: LIMITS.keepAliveTimeoutMs,
    return503OnClosing: false,
    http: {
      headersTimeout: LIMITS.headersTimeoutMs,
      maxHeaderSize: LIMITS.urlAndHeadersBytes,
      // Node's own answer to a request without it has no error body; access.ts refuses it.
      requireHostHeader: false,
    },
    frameworkErrors: (error, request, reply) => {
      nameRequest(request, reply);
      onError(error, request, reply);
    },
    clientErrorHandler: (error, socket) => answerMalformedHttp(error, socket, randomUUID()),
  });
  app.server.maxConnections = LIMITS.connections;
  // Node refuses an Expect header that it does not know by itself, without an error body; HTTP lets it be ignored.
  app.server.on('checkExpectation', app.routing);

  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(() => (answer) => JSON.stringify(answer));
  app.setErrorHandler(onError);
  app.addSchema(ERROR_SCHEMA);

  await registerHooks(app, settings, metrics);
  limitBodyTime(app);
  readJsonBodies(app);
  await app.register(swagger, openApiOptions);
  const served = { engine, api: engine.namespace(DEFAULTS.namespace), metrics, settings };
  for (const route of ROUTES) route(app, served);
  await registerDocsPages(app);
  app.setNotFoundHandler(() => {
    throw new MemoryError('NOT_FOUND', 'no such route; /docs lists those there are');
  });
  return app;
}

/** The steps that every request takes: it is named, web pages are answered or refused, then callers. */
async function registerHooks(app: App, settings: AppOptions['settings'], metrics: Metrics): Promise<void> {
  app.addHook('onRequest', (request, reply, done) => {
    nameRequest(request, reply);
    done();
  });
  const origins = allowedOrigins(settings);
  await app.register(cors, corsOptions(origins));
  const checkAccess = accessCheck(settings.host);
  app.addHook('onRequest', (request, _reply, done) => {
    checkAccess(request);
    refuseForeignWrite(request, origins);
    done();
  });
  app.addHook('onResponse', ({ method, routeOptions }, reply, done) => {
    const route = routeOptions.url ?? 'unmatched';
    metrics.observeRequest({ method, route, status: reply.statusCode, durationMs: reply.elapsedTime });
    done();
  });
}

function nameRequest(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers({ 'X-Request-Id': request.id, 'X-Content-Type-Options': 'nosniff' });
}
