import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import cors from '@fastify/cors';
import swagger from '@fastify/swagger';
import { MemoryError } from '@memoryd/contract';
import type { Engine, Telemetry } from '@memoryd/engine';
import Fastify, { type FastifyReply, type FastifyRequest, type FastifyServerOptions, type RouteOptions } from 'fastify';
import { audited } from '../audit.ts';
import { type Caller, getBinding } from '../caller.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Settings } from '../settings/read.ts';
import { createGate, type Gate, shownKey } from './access.ts';
import { ERROR_SCHEMA } from './answers.ts';
import { auditedCaller, getAudit } from './audited-request.ts';
import { limitBodyTime } from './body-deadline.ts';
import { allowedOrigins, corsOptions, refuseForeignPage, refuseForeignWrite } from './cross-origin.ts';
import { registerDashboardPage } from './dashboard-page.ts';
import { registerDocsPages } from './docs-pages.ts';
import { errorHandler } from './errors.ts';
import { readJsonBodies } from './json-body.ts';
import { MalformedHttp } from './malformed-http.ts';
import { openApiOptions } from './openapi.ts';
import { limitAnswers, limitBodies } from './overload/bytes-in-flight.ts';
import { limitConnections } from './overload/connections.ts';
import { limitHeavyWork } from './overload/heavy-work.ts';
import { type PressureLimits, refuseUnderPressure } from './overload/pressure.ts';
import { countRequestsUnderWay } from './overload/requests-under-way.ts';
import { type Count, limitRates } from './rate-limits.ts';
import { RouteMethods } from './route-methods.ts';
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
import { keys } from './routes/keys.ts';
import { mcp } from './routes/mcp.ts';
import { memories } from './routes/memories.ts';
import { memory } from './routes/memory.ts';
import { metrics } from './routes/metrics.ts';
import { namespaces } from './routes/namespaces.ts';
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
import { users } from './routes/users.ts';
import { BARE_SECURITY_HEADERS, registerSecurityHeaders } from './security-headers.ts';
import { compileValidator, type RawQuery } from './validation.ts';

const ROUTES = [
  root,
  store,
  storeBatch,
  recall,
  session,
  sessions,
  users,
  memory,
  history,
  memories,
  keys,
  namespaces,
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
  mcp,
];

const LIMITS = {
  /** A query of 8,192 characters takes up to 12 bytes a character when percent-encoded. */
  urlAndHeadersBytes: 256 * 1024,
  headersTimeoutMs: 20_000,
  /** How often it is looked for requests that take too long to arrive. */
  arrivalCheckMs: 1000,
  /** Without a byte either way; longer than any answer takes, consolidations of a large database included. */
  silentConnectionTimeoutMs: 600_000,
  keepAliveTimeoutMs: 72_000,
};

/**
 * How requests are checked and answers written. Given as the application is made, or it would load Fastify's own
 * compilers, whose types alone its declaration knows: a tenth of a start.
 */
const SCHEMA_CONTROLLER = {
  compilersFactory: {
    buildValidator: () => compileValidator,
    buildSerializer: () => () => (answer: unknown) => JSON.stringify(answer),
  },
} as unknown as NonNullable<FastifyServerOptions['schemaController']>;

export interface AppOptions extends Pick<PressureLimits, 'lateLoopMs'> {
  settings: Pick<
    Settings,
    | 'host'
    | 'corsOrigins'
    | 'production'
    | 'maxBodyBytes'
    | 'maxBatchBodyBytes'
    | 'slowClientSeconds'
    | 'memoryLimitMb'
    | 'apiKey'
    | 'rateLimit'
    | 'workingMax'
    | 'consolidationIntervalSeconds'
    | 'accessLog'
    | 'dbSizeAlertMb'
    | 'maxConnections'
    | 'maxConnectionsPerAddress'
  >;
  engine: Engine;
  metrics: Metrics;
  telemetry: Telemetry;
  /** Told of every route as it is added. */
  onRoute?: (route: RouteOptions) => void;
}

/** The HTTP application over an engine, not yet listening. Closing it leaves the engine open. */
export async function buildApp(options: AppOptions): Promise<App> {
  const { settings, engine, metrics, telemetry } = options;
  const onError = errorHandler(telemetry, metrics.countError);
  const malformedHttp = new MalformedHttp(metrics.countError);
  const slowClientMs = settings.slowClientSeconds * 1000;
  const app = bareApp(settings.maxBodyBytes, slowClientMs, onError, malformedHttp);
  app.setErrorHandler(onError);
  app.addSchema(ERROR_SCHEMA);

  app.addHook('onRequest', (request, reply, done) => {
    reply.header('X-Request-Id', request.id);
    malformedHttp.expect(request, reply);
    done();
  });
  const methods = new RouteMethods();
  app.addHook('onRoute', (route) => methods.add(route));
  limitConnections(app, settings, telemetry);
  const gate = createGate(engine, settings);
  const countAnother = await registerHooks(app, gate, slowClientMs, options);
  limitBodyTime(app, malformedHttp, slowClientMs);
  readJsonBodies(app);
  await app.register(swagger, openApiOptions);
  const getApi = (request: FastifyRequest) => {
    const { namespace, scope, keyId } = request.caller;
    const memories = engine.namespace(namespace, scope, keyId);
    const binding = getBinding(request.caller);
    return audited(binding ? memories.scope(binding) : memories, auditedCaller(request), telemetry);
  };
  const served = { engine, getApi, gate, countAnother, metrics, telemetry, settings };
  for (const route of ROUTES) route(app, served);
  await registerDocsPages(app);
  await registerDashboardPage(app);
  app.setNotFoundHandler({ preHandler: app.rateLimit() }, ({ url }, reply) => {
    const allowed = methods.at(getPath(url));
    if (allowed.length === 0) throw new MemoryError('NOT_FOUND', 'no such route; /docs lists those there are');
    reply.header('Allow', allowed.join(', '));
    throw new MemoryError('METHOD_NOT_ALLOWED', `this path has only ${allowed.join(', ')}`);
  });
  return app;
}

function getPath(url: string): string {
  return url.split('?', 1)[0] as string;
}

/** The application as a server of HTTP, with its limits, and an answer for whatever is no request of it. */
function bareApp(
  maxBodyBytes: number,
  slowClientMs: number,
  onError: ReturnType<typeof errorHandler>,
  malformedHttp: MalformedHttp,
): App {
  const app: App = Fastify({
    bodyLimit: maxBodyBytes,
    genReqId: () => randomUUID(),
    routerOptions: {
      maxParamLength: LIMITS.urlAndHeadersBytes,
      querystringParser: (raw): Record<keyof RawQuery, string> => ({ raw }),
    },
    connectionTimeout: LIMITS.silentConnectionTimeoutMs,
    keepAliveTimeout: LIMITS.keepAliveTimeoutMs,
    return503OnClosing: false,
    http: {
      headersTimeout: Math.min(LIMITS.headersTimeoutMs, slowClientMs),
      connectionsCheckingInterval: LIMITS.arrivalCheckMs,
      maxHeaderSize: LIMITS.urlAndHeadersBytes,
      // Node's own answer to a request without it has no error body; access.ts refuses it.
      requireHostHeader: false,
    },
    frameworkErrors: (error, request, reply) => {
      reply.headers({ ...BARE_SECURITY_HEADERS, 'X-Request-Id': request.id });
      onError(error, request, reply);
    },
    clientErrorHandler: (error, socket) => malformedHttp.answer(error, socket),
    schemaController: SCHEMA_CONTROLLER,
  });
  // Their size limits them. Past a number Node leaves headers out without a word, those that tell of a proxy too.
  app.server.maxHeadersCount = 0;
  // Node refuses an Expect header that it does not know by itself, without an error body; HTTP lets it be ignored.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.server.prependListener('request', endAfterUpgrade);
  return app;
}

/**
 * Makes a request for another protocol, which HTTP lets be ignored, the last of its connection: Node's parser does not
 * tell of malformed requests after one, so that they would have no answer.
 */
function endAfterUpgrade({ headers }: IncomingMessage, response: ServerResponse): void {
  if (headers.upgrade !== undefined) response.shouldKeepAlive = false;
}

/**
 * The steps that every request takes: web pages are answered or refused, then callers, then whatever is too much. Answers
 * what counts the further requests that one may hold.
 */
async function registerHooks(
  app: App,
  gate: Gate,
  slowClientMs: number,
  { settings, metrics, telemetry, onRoute, lateLoopMs }: AppOptions,
): Promise<Count> {
  registerSecurityHeaders(app);
  countRequestsUnderWay(app);
  // Browsers ask whether they may ask without showing a key.
  app.addHook('onRoute', (route) => {
    if (route.method === 'OPTIONS') route.config = { ...route.config, access: 'anyone' };
    onRoute?.(route);
  });
  const origins = allowedOrigins(settings);
  await app.register(cors, corsOptions(origins));
  const { countAnother, countWrongKey } = await limitRates(app, settings.rateLimit);
  app.decorateRequest('caller');
  app.addHook('onRequest', async (request, reply) => {
    request.caller = await admitted(gate, request, reply, countWrongKey).catch((error: unknown) => {
      if (error instanceof MemoryError && error.code === 'UNAUTHORIZED') {
        getAudit(request, telemetry, 'authentication_failed', { method: request.method, path: getPath(request.url) });
      }
      throw error;
    });
    refuseForeignWrite(request, origins);
    refuseForeignPage(request, settings);
    // Who has gone meanwhile says so no more: what waits for that, to end or make room, would wait for ever.
    if (reply.raw.destroyed) reply.hijack();
  });
  await refuseUnderPressure(app, { memoryLimitMb: settings.memoryLimitMb, lateLoopMs });
  limitAnswers(app, slowClientMs);
  limitHeavyWork(app, slowClientMs);
  limitBodies(app);
  app.addHook('onResponse', ({ method, routeOptions }, reply, done) => {
    const route = routeOptions.url ?? 'unmatched';
    metrics.observeRequest({ method, route, status: reply.statusCode, durationMs: reply.elapsedTime });
    done();
  });
  if (settings.accessLog) logRequests(app, telemetry);
  return countAnother;
}

/** Logs a record for each request, when its response has left. */
function logRequests(app: App, telemetry: Telemetry): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { key_id = null, request_id = '', ...caller } = auditedCaller(request);
    const facts = {
      ...{ request_id, method: request.method, path: getPath(request.url), status: reply.statusCode },
      ...{ duration_ms: Math.round(reply.elapsedTime * 1000) / 1000, key_id, ...caller },
    };
    telemetry.report({ level: 'info', component: 'http', event: 'request_completed', facts });
    done();
  });
}

async function admitted(
  gate: Gate,
  request: FastifyRequest,
  reply: FastifyReply,
  countWrongKey: Count,
): Promise<Caller> {
  try {
    return await gate.admit(request);
  } catch (error) {
    const isWrongKey = error instanceof MemoryError && error.code === 'UNAUTHORIZED' && shownKey(request) !== undefined;
    if (isWrongKey) await countWrongKey(request, reply);
    throw error;
  }
}
