import type { FastifyCorsOptions } from '@fastify/cors';
import { MemoryError } from '@memoryd/contract';
import type { FastifyRequest } from 'fastify';
import type { Settings } from '../settings/read.ts';
import { isLoopbackHost } from './access.ts';

/** Origins whose web pages may call the service. */
export type AllowedOrigins = 'every' | readonly string[];

/**
 * Returns the origins in `corsOrigins`. Without this setting, allows every origin in development and no origin in
 * production.
 */
export function allowedOrigins({
  corsOrigins,
  production,
}: Pick<Settings, 'corsOrigins' | 'production'>): AllowedOrigins {
  if (corsOrigins === undefined) return production ? [] : 'every';
  return corsOrigins.includes('*') ? 'every' : corsOrigins;
}

export function corsOptions(allowed: AllowedOrigins): FastifyCorsOptions {
  return {
    origin: allowed === 'every' ? '*' : [...allowed],
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    exposedHeaders: [
      'ETag',
      'X-Request-Id',
      'Retry-After',
      'RateLimit-Limit',
      'RateLimit-Remaining',
      'RateLimit-Reset',
    ],
    maxAge: 600,
    strictPreflight: false,
  };
}

const READING_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses a write from a web page whose origin is not allowed. CORS alone is not enough: browsers send a form-like
 * write without a preflight, and only withhold the response from the page.
 *
 * @throws MemoryError FORBIDDEN
 */
export function refuseForeignWrite(request: FastifyRequest, allowed: AllowedOrigins): void {
  if (allowed === 'every' || READING_METHODS.has(request.method)) return;
  if (isForeign(request, allowed)) throw foreignOrigin();
}

/**
 * Returns a hook that refuses requests of web pages, except from this server's own origin and the origins in
 * `corsOrigins`. Unlike for CORS, `*` and an absent setting allow no other origin, even in development.
 */
export function refuseForeignOrigin({ corsOrigins = [] }: Pick<Settings, 'corsOrigins'>) {
  return (request: FastifyRequest, _reply: unknown, done: (error?: Error) => void): void =>
    done(isForeign(request, corsOrigins) ? foreignOrigin() : undefined);
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Whether the route refuses web pages whose origin is neither this server, nor on a loopback host, nor in
     * `corsOrigins`. For routes that read or change many memories at once, or administer the service.
     */
    refusesForeignPages?: boolean;
  }
}

/**
 * Refuses a request to a route with `refusesForeignPages` from a web page whose origin is neither this server, nor on a
 * loopback host, nor in `corsOrigins`. For these routes, `*` in `corsOrigins` allows no other origin.
 *
 * @throws MemoryError FORBIDDEN
 */
export function refuseForeignPage(request: FastifyRequest, { corsOrigins = [] }: Pick<Settings, 'corsOrigins'>): void {
  if (!request.routeOptions.config?.refusesForeignPages) return;
  const { origin = '' } = request.raw.headers;
  const isOnLoopback = URL.canParse(origin) && isLoopbackHost(new URL(origin).hostname);
  if (!isOnLoopback && isForeign(request, corsOrigins)) throw foreignOrigin();
}

function isForeign({ raw }: FastifyRequest, allowed: readonly string[]): boolean {
  const { origin, host } = raw.headers;
  if (origin === undefined || allowed.includes(origin)) return false;
  return origin !== `http://${host}` && origin !== `https://${host}`;
}

function foreignOrigin(): MemoryError {
  return new MemoryError(
    'FORBIDDEN',
    'web pages of this origin are not allowed; add the origin to SERVICE_CORS_ORIGINS',
  );
}
