import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import cors from '@fastify/cors';
import swagger from '@fastify/swagger';
import { MemoryError } from '@memoryd/contract';
import type { Engine, Telemetry } from '@memoryd/engine';
import Fastify, { type FastifyReply, type FastifyRequest, type FastifyServerOptions, type RouteOptions } from 'fastify';
import { audited } from '../audit.ts';
import { type Caller, getBinding } from '../caller.ts';
import { HookActivity } from '../hooks/activity.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Settings } from '../settings/read.ts';
import { createGate, type Gate, getApiKey } from './access.ts';
import { auditedCaller, auditRequest } from './audited-request.ts';
import { limitBodyDuration } from './body-deadline.ts';
import { allowedOrigins, corsOptions, refuseForeignPage, refuseForeignWrite } from './cross-origin.ts';
import { registerDashboardPage } from './dashboard-page.ts';
import { registerDocsPages } from './docs-pages.ts';
import { errorHandler } from './errors.ts';
import { readJsonBodies } from './json-body.ts';
import { MalformedHttp } from './malformed-http.ts';
import { openApiOptions } from './openapi.ts';
import { limitBodies, limitResponses } from './overload/bytes-in-flight.ts';
import { limitConnections } from './overload/connections.ts';
import { limitHeavyWork } from './overload/heavy-work.ts';
import { trackPendingRequests } from './overload/pending-requests.ts';
import { type PressureLimits, refuseUnderPressure } from './overload/pressure.ts';
import { type Count, limitRates } from './rate-limits.ts';
import { acceptsHtml } from './request-headers.ts';
import { RouteMethods } from './route-methods.ts';
import { backup } from './routes/backup.ts';
import { changes } from './routes/changes.ts';
import { consolidate } from './routes/consolidate.ts';
import { consolidation } from './routes/consolidation.ts';
import { consolidations } from './routes/consolidations.ts';
import { context } from './routes/context.ts';
import { corrections } from './routes/corrections.ts';
import { events } from './routes/events.ts';
import { exportMemories } from './routes/export.ts';
import { facets } from './routes/facets.ts';
import { forget, forgetMany } from './routes/forget.ts';
import { growth } from './routes/growth.ts';
import { health } from './routes/health.ts';
import { history } from './routes/history.ts';
import { hookSettings } from './routes/hook-settings.ts';
import { hooks } from './routes/hooks.ts';
import { importMemories } from './routes/import.ts';
import { imports, importTexts, undoImport } from './routes/imports.ts';
import { keys } from './routes/keys.ts';
import { map } from './routes/map.ts';
import { mcp } from './routes/mcp.ts';
import { memories } from './routes/memories.ts';
import { memory } from './routes/memory.ts';
import { metrics } from './routes/metrics.ts';
import { namespaces } from './routes/namespaces.ts';
import { recall } from './routes/recall.ts';
import { recalls } from './routes/recalls.ts';
import { related } from './routes/related.ts';
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
  context,
  hooks,
  session,
  sessions,
  users,
  memory,
  history,
  memories,
  facets,
  growth,
  map,
  related,
  recalls,
  changes,
  keys,
  namespaces,
  hookSettings,
  update,
  forget,
  forgetMany,
  consolidate,
  consolidations,
  corrections,
  consolidation,
  undo,
  events,
  exportMemories,
  importMemories,
  importTexts,
  imports,
  undoImport,
  backup,
  stats,
  health,
  metrics,
  mcp,
];

const LIMITS = {
  /** Large enough for a query of 8,192 characters with up to 12 bytes each when percent-encoded. */
  urlAndHeadersBytes: 256 * 1024,
  headersTimeoutMs: 20_000,
  /** Interval for checking request timeouts. */
  arrivalCheckMs: 1000,
  /**
   * Maximum time without a byte in either direction; longer than the slowest response, such as the consolidation of a
   * large database.
   */
  silentConnectionTimeoutMs: 600_000,
  keepAliveTimeoutMs: 72_000,
};

/**
 * Compilers for request validation and response serialization. They are passed when the application is created, because
 * otherwise Fastify loads its default compilers, which takes a tenth of the startup time. The cast is needed because
 * Fastify declares only the types of the default compilers.
 */
const SCHEMA_CONTROLLER = {
  compilersFactory: {
    buildValidator: () => compileValidator,
    buildSerializer: () => () => (body: unknown) => JSON.stringify(body),
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
    | 'timezone'
    | 'memoryLimitMb'
    | 'apiKey'
    | 'rateLimit'
    | 'workingMax'
    | 'consolidationIntervalSeconds'
    | 'accessLog'
    | 'dbSizeAlertMb'
    | 'database'
    | 'importMaxMb'
    | 'redact'
    | 'redactImports'
    | 'maxConnections'
    | 'maxConnectionsPerAddress'
  >;
  engine: Engine;
  metrics: Metrics;
  telemetry: Telemetry;
  /** Called with each route that is added. */
  onRoute?: (route: RouteOptions) => void;
}

/**
 * Creates the HTTP application for an engine, not yet listening. Closing the application leaves the engine open.
 *
 * Before a route runs, a request passes these steps in this order. A step that refuses it ends the request.
 *
 * | step | file | may refuse with |
 * |---|---|---|
 * | HTTP is well formed | malformed-http.ts | INVALID_REQUEST; PAYLOAD_TOO_LARGE for the URL and headers; METHOD_NOT_ALLOWED for CONNECT |
 * | a connection is free | overload/connections.ts | UNAVAILABLE |
 * | headers for browsers, list of pending requests | security-headers.ts, overload/pending-requests.ts | |
 * | CORS, and the response to a preflight request | cross-origin.ts | |
 * | the key, its scope and namespace | access.ts | UNAUTHORIZED, FORBIDDEN, INVALID_REQUEST, UNAVAILABLE; RATE_LIMITED after many unknown keys |
 * | the origin of a web page | cross-origin.ts | FORBIDDEN |
 * | the load of the process | overload/pressure.ts | UNAVAILABLE |
 * | unread responses | overload/bytes-in-flight.ts | UNAVAILABLE for heavy work |
 * | a slot for heavy work without a body, except a recall | overload/heavy-work.ts | UNAVAILABLE |
 * | memory for the body | overload/bytes-in-flight.ts | UNAVAILABLE |
 * | the encoding of the body | json-body.ts | UNSUPPORTED_MEDIA_TYPE |
 * | the rate limit of the key | rate-limits.ts | RATE_LIMITED |
 * | the body arrives, and is JSON | body-deadline.ts, json-body.ts | INVALID_REQUEST, PAYLOAD_TOO_LARGE |
 * | path, query, headers and body match their schemas | validation.ts | INVALID_REQUEST |
 * | a slot for heavy work with a body, and for a recall | overload/heavy-work.ts | UNAVAILABLE |
 *
 * An unknown path passes the same steps up to the rate limit, and then gets NOT_FOUND or METHOD_NOT_ALLOWED.
 */
export async function buildApp(options: AppOptions): Promise<App> {
  const { settings, engine, metrics, telemetry } = options;
  const onError = errorHandler(telemetry, metrics.countError);
  const malformedHttp = new MalformedHttp(metrics.countError);
  const slowClientMs = settings.slowClientSeconds * 1000;
  const app = createApp(settings.maxBodyBytes, slowClientMs, onError, malformedHttp);
  app.setErrorHandler(onError);

  app.addHook('onRequest', (request, reply, done) => {
    reply.header('X-Request-Id', request.id);
    malformedHttp.track(request, reply);
    done();
  });
  const methods = new RouteMethods();
  app.addHook('onRoute', (route) => methods.add(route));
  app.server.on('connect', ({ url = '' }, socket: Socket) => {
    // The target of CONNECT is usually another host instead of a path; such a target allows what any path allows.
    const allowed = methods.at(getPath(url));
    malformedHttp.refuseConnect(socket, allowed.length > 0 ? allowed : methods.all());
  });
  limitConnections(app, settings, telemetry);
  const gate = createGate(engine, settings);
  const countExtraRequest = await registerHooks(app, gate, slowClientMs, options);
  limitBodyDuration(app, malformedHttp, slowClientMs);
  readJsonBodies(app);
  await app.register(swagger, openApiOptions);
  const getApi = (request: FastifyRequest) => {
    const { namespace, scope, keyId } = request.caller;
    const memories = engine.namespace(namespace, scope, keyId);
    const binding = getBinding(request.caller);
    const api = audited(binding ? memories.scope(binding) : memories, auditedCaller(request), telemetry);
    return metrics.history.countStores(api);
  };
  const hookActivity = new HookActivity();
  const context = { engine, getApi, gate, countExtraRequest, hookActivity, metrics, telemetry, settings };
  for (const route of ROUTES) route(app, context);
  // Begins the checks of the database, so that the first health probe finds a state.
  await engine.databaseState();
  await registerDocsPages(app);
  await registerDashboardPage(app);
  app.setNotFoundHandler({ preHandler: app.rateLimit() }, ({ url, method }, reply) => {
    const allowed = methods.at(getPath(url));
    // A wildcard route with the method has found no file.
    if (allowed.length === 0 || allowed.includes(method))
      throw new MemoryError('NOT_FOUND', 'route not found; /docs lists all routes');
    reply.header('Allow', allowed.join(', '));
    throw new MemoryError('METHOD_NOT_ALLOWED', `this path supports only ${allowed.join(', ')}`);
  });
  return app;
}

function getPath(url: string): string {
  return url.split('?', 1)[0] as string;
}

/** Creates the application without routes, with HTTP limits and error responses for malformed requests. */
function createApp(
  maxBodyBytes: number,
  slowClientMs: number,
  onError: ReturnType<typeof errorHandler>,
  malformedHttp: MalformedHttp,
): App {
  const app: App = Fastify({
    bodyLimit: maxBodyBytes,
    genReqId: () => randomUUID(),
    // Browsers accept HTML and get `/ui`, which redirects to the dashboard. Other clients get the response of `/`.
    rewriteUrl: ({ url = '', headers }) => (url === '/' && acceptsHtml(headers.accept) ? '/ui' : url),
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
      // Node's own response to a request without Host has no error body; access.ts checks the Host header of local
      // requests instead.
      requireHostHeader: false,
    },
    frameworkErrors: (error, request, reply) => {
      reply.headers({ ...BARE_SECURITY_HEADERS, 'X-Request-Id': request.id });
      onError(error, request, reply);
    },
    clientErrorHandler: (error, socket) => malformedHttp.respond(error, socket),
    schemaController: SCHEMA_CONTROLLER,
  });
  // Fastify refuses a QUERY request without Content-Type before it looks for the route. No route has this method.
  app.addHttpMethod('QUERY', { overrideExisting: true });
  // No limit on the number of headers: `maxHeaderSize` limits their size. Above a maximum number, Node silently drops
  // headers, including those of proxies.
  app.server.maxHeadersCount = 0;
  // Node refuses an unknown Expect header without an error body; HTTP allows ignoring the header.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.server.prependListener('request', endAfterUpgrade);
  return app;
}

/**
 * Closes the connection after a request with an Upgrade header. Node's parser does not report malformed requests after
 * an upgrade request, so the client would get no response. HTTP allows servers to ignore the header.
 */
function endAfterUpgrade({ headers }: IncomingMessage, response: ServerResponse): void {
  if (headers.upgrade !== undefined) response.shouldKeepAlive = false;
}

/**
 * Registers the hooks of every request in the order of the table of `buildApp`, and metrics. Returns the function that counts additional requests inside one HTTP request against the rate limit.
 */
async function registerHooks(
  app: App,
  gate: Gate,
  slowClientMs: number,
  { settings, metrics, telemetry, onRoute, lateLoopMs }: AppOptions,
): Promise<Count> {
  registerSecurityHeaders(app);
  trackPendingRequests(app);
  // OPTIONS routes require no key, because browsers send preflight requests without a key.
  app.addHook('onRoute', (route) => {
    if (route.method === 'OPTIONS') route.config = { ...route.config, access: 'anyone' };
    onRoute?.(route);
  });
  const origins = allowedOrigins(settings);
  await app.register(cors, corsOptions(origins));
  const { countExtraRequest, countUnknownKey } = await limitRates(app, settings.rateLimit);
  app.decorateRequest('caller');
  app.addHook('onRequest', async (request, reply) => {
    request.caller = await authorize(gate, request, reply, countUnknownKey).catch((error: unknown) => {
      if (error instanceof MemoryError && error.code === 'UNAUTHORIZED') {
        auditRequest(request, telemetry, 'authentication_failed', {
          method: request.method,
          path: getPath(request.url),
        });
      }
      throw error;
    });
    refuseForeignWrite(request, origins);
    refuseForeignPage(request, settings);
    // The client may have disconnected during authorization; `close` already fired, so listeners added now never run.
    if (reply.raw.destroyed) reply.hijack();
  });
  await refuseUnderPressure(app, { memoryLimitMb: settings.memoryLimitMb, lateLoopMs });
  limitResponses(app, slowClientMs);
  limitHeavyWork(app, slowClientMs);
  limitBodies(app);
  app.addHook('onResponse', ({ method, routeOptions }, reply, done) => {
    const route = routeOptions.url ?? 'unmatched';
    metrics.observeRequest({ method, route, status: reply.statusCode, durationMs: reply.elapsedTime });
    done();
  });
  if (settings.accessLog) logRequests(app, telemetry);
  return countExtraRequest;
}

/** Logs a record for each request after its response is sent. */
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

async function authorize(
  gate: Gate,
  request: FastifyRequest,
  reply: FastifyReply,
  countUnknownKey: Count,
): Promise<Caller> {
  try {
    return await gate.admit(request);
  } catch (error) {
    const isUnknownKey =
      error instanceof MemoryError && error.code === 'UNAUTHORIZED' && getApiKey(request) !== undefined;
    if (isUnknownKey) await countUnknownKey(request, reply);
    throw error;
  }
}
