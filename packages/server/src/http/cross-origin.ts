import type { FastifyCorsOptions } from '@fastify/cors';
import { MemoryError } from '@memoryd/contract';
import type { FastifyRequest } from 'fastify';
import type { Settings } from '../settings/read.ts';
import { isLoopbackHost } from './access.ts';

/** Origins whose web pages may call the service. */
export type AllowedOrigins = 'every' | readonly string[];

/** The allowed origins: those that are set; where none are set, every one in development and none in production. */
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
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
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
 * Refuses a write that a web page of an origin which is not allowed asks for. Browsers send such a write without
 * asking first when it looks like a form's, and keep only the answer from the page.
 *
 * @throws MemoryError FORBIDDEN
 */
export function refuseForeignWrite(request: FastifyRequest, allowed: AllowedOrigins): void {
  if (allowed === 'every' || READING_METHODS.has(request.method)) return;
  if (isForeign(request, allowed)) throw foreignOrigin();
}

/**
 * A handler step that refuses every request of a web page but those of this server and of the origins that are named:
 * `*`, and development without a word on origins, name none.
 */
export function refuseForeignOrigin({ corsOrigins = [] }: Pick<Settings, 'corsOrigins'>) {
  return (request: FastifyRequest, _reply: unknown, done: (error?: Error) => void): void =>
    done(isForeign(request, corsOrigins) ? foreignOrigin() : undefined);
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route takes or destroys much, so that web pages need an origin on this machine or one that is named. */
    refusesForeignPages?: boolean;
  }
}

/**
 * Refuses a request to a route with `refusesForeignPages` from a web page whose origin is neither on a loopback host nor
 * named in the setting; `*` names none.
 *
 * @throws MemoryError FORBIDDEN
 */
export function refuseForeignPage(request: FastifyRequest, { corsOrigins = [] }: Pick<Settings, 'corsOrigins'>): void {
  if (!request.routeOptions.config?.refusesForeignPages) return;
  const { origin = '' } = request.raw.headers;
  const isOnLoopback = URL.canParse(origin) && isLoopbackHost(new URL(origin).hostname);
  if (!isOnLoopback && isForeign(request, corsOrigins)) throw foreignOrigin();
}

function isForeign({ raw }: FastifyRequest, named: readonly string[]): boolean {
  const { origin, host } = raw.headers;
  if (origin === undefined || named.includes(origin)) return false;
  return origin !== `http://${host}` && origin !== `https://${host}`;
}

function foreignOrigin(): MemoryError {
  return new MemoryError(
    'FORBIDDEN',
    'web pages of this origin may not call; SERVICE_CORS_ORIGINS names those that may',
  );
}
