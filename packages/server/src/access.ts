import { isIPv4 } from 'node:net';
import { MemoryError } from '@memoryd/contract';
import type { FastifyRequest } from 'fastify';
import { valuesOf } from './request-headers.ts';

/** Routes, with everything below them, that answer callers from elsewhere too. */
const OPEN_ROUTES = ['/health', '/docs', '/redoc', '/openapi.json'];

/** Headers, beside `X-Forwarded-*`, by which proxies say that they pass a request on for somebody else. */
const FORWARDING_HEADERS = new Set([
  'forwarded',
  'via',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-original-forwarded-for',
  'true-client-ip',
  'cf-connecting-ip',
  'fastly-client-ip',
  'fly-client-ip',
]);

const ELSEWHERE =
  'only callers on this machine are served: access from elsewhere needs an API key, which this version cannot make yet';

/**
 * Decides who may call: this machine may, as long as the Host header names it; anybody else may only see the open
 * routes.
 *
 * @param host the address that the service was told to listen on
 * @returns a check that throws MemoryError UNAUTHORIZED or FORBIDDEN, and INVALID_REQUEST unless Host is given once
 */
export function accessCheck(host: string): (request: FastifyRequest) => void {
  const ownHost = host.toLowerCase();
  return (request) => {
    if (!isFromHere(request)) {
      if (isOpen(request.routeOptions.url)) return;
      throw new MemoryError('UNAUTHORIZED', ELSEWHERE);
    }
    checkHost(request, ownHost);
  };
}

function isOpen(route: string | undefined): boolean {
  return route !== undefined && OPEN_ROUTES.some((open) => route === open || route.startsWith(`${open}/`));
}

function isFromHere(request: FastifyRequest): boolean {
  if (!isLoopbackAddress(request.raw.socket.remoteAddress)) return false;
  for (const name in request.raw.headers) {
    if (FORWARDING_HEADERS.has(name) || name.startsWith('x-forwarded-')) return false;
  }
  return true;
}

function isLoopbackAddress(address: string | undefined): boolean {
  if (address === undefined) return false;
  return address === '::1' || address.startsWith('127.') || address.startsWith('::ffff:127.');
}

/** Refuses a page that reaches this machine through a name of its own (DNS rebinding): such a request names that. */
function checkHost(request: FastifyRequest, ownHost: string): void {
  const [host, ...more] = valuesOf(request, 'host');
  // HTTP/1.0 has no such header, and no browser speaks it.
  if (host === undefined && request.raw.httpVersion === '1.0') return;
  // RFC 9112, section 3.2.
  if (host === undefined || more.length > 0) {
    throw new MemoryError('INVALID_REQUEST', 'the Host header must be given once');
  }
  const name = host.toLowerCase().replace(/:[0-9]*$/, '');
  if (name === 'localhost' || name === '[::1]' || (isIPv4(name) && name.startsWith('127.'))) return;
  if (name === ownHost || name === `[${ownHost}]`) return;
  throw new MemoryError('FORBIDDEN', 'the Host header must name this machine, such as localhost');
}
