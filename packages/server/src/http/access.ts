import { hash, timingSafeEqual } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { assertNamespace, covers, DEFAULTS, MemoryError, type NewKey, type Scope } from '@memoryd/contract';
import type { Engine, Keys } from '@memoryd/engine';
import type { FastifyRequest } from 'fastify';
import type { Access, Caller } from '../caller.ts';
import type { Settings } from '../settings/read.ts';
import { getValues } from './request-headers.ts';

/** Headers, in addition to `X-Forwarded-*`, that mark a request as forwarded by a proxy. */
const FORWARDING_HEADERS = new Set([
  'forwarded',
  'forwarded-for',
  'x-forwarded',
  'via',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-original-forwarded-for',
  'x-original-host',
  'x-envoy-external-address',
  'true-client-ip',
  'cf-connecting-ip',
  'fastly-client-ip',
  'fly-client-ip',
]);

/**
 * The caller of a local request without a key while local requests need no key (see `areKeysNeeded`), and the access of
 * the key in the setting `apiKey`.
 */
const OPERATOR: Caller = { namespace: DEFAULTS.namespace, scope: 'operate' };

/** The caller on routes that need no key, if the request has no valid key or the keys cannot be read at once. */
const ANONYMOUS: Caller = { namespace: DEFAULTS.namespace, scope: 'read' };

/** Maximum wait in ms for the keys on a route that needs no key. */
const MAX_IDENTIFY_MS = 75;

/** The id of the key in the setting `apiKey`. */
const SETTING_KEY_ID = 'SERVICE_API_KEY';

/** Returns the command that creates a key, without the database path, which callers must not learn. */
export function howToMakeAKey({ namespace, scope }: NewKey): string {
  return `memoryd keys add --namespace ${namespace} --scope ${scope}, on the service's own database`;
}

type AccessSettings = Pick<Settings, 'host' | 'apiKey'>;

/** Authenticates and authorizes requests. */
export interface Gate {
  /**
   * Returns the caller of a request: the holder of its API key; the operator for a local request without a key while
   * local requests need no key; or an anonymous caller on routes that need no key.
   *
   * @throws MemoryError UNAUTHORIZED for an invalid or missing key that the route requires; FORBIDDEN if the key
   *   lacks the required scope, or a local request names a foreign Host; INVALID_REQUEST for two different keys, an
   *   invalid namespace, a repeated header, or a local request without a Host header; UNAVAILABLE if the keys cannot be
   *   read and the route requires a key
   */
  admit(request: FastifyRequest): Promise<Caller>;
}

export function createGate({ keys }: Pick<Engine, 'keys'>, settings: AccessSettings): Gate {
  const ownHost = settings.host.toLowerCase();

  async function identify(request: FastifyRequest, isLocal: boolean, needed: Scope): Promise<Caller | undefined> {
    const key = getApiKey(request);
    if (key === undefined) return identifyWithoutKey(isLocal);
    const holder = await getHolder(key, keys, settings);
    if (!holder) throw createUnauthorizedError('the API key is unknown or revoked, or has expired', needed);
    return holder;
  }

  async function identifyWithoutKey(isLocal: boolean): Promise<Caller | undefined> {
    return isLocal && !(await areKeysNeeded({ keys }, settings)) ? OPERATOR : undefined;
  }

  /**
   * Returns the caller of a route that needs no key. Ignores an invalid key: an unknown key, two different keys, or a
   * repeated header.
   */
  async function identifyAnyone(request: FastifyRequest, isLocal: boolean): Promise<Caller | undefined> {
    try {
      return await identify(request, isLocal, 'read');
    } catch (error) {
      if (!(error instanceof MemoryError && ['UNAUTHORIZED', 'INVALID_REQUEST'].includes(error.code))) throw error;
      return identifyWithoutKey(isLocal);
    }
  }

  return {
    async admit(request) {
      const isLocal = isLocalRequest(request);
      if (isLocal) checkHost(request, ownHost);
      const needed = getAccess(request);
      if (needed === 'anyone') return identifySoon(identifyAnyone(request, isLocal));
      const caller = await identify(request, isLocal, needed);
      if (!caller) throw createMissingKeyError(await areKeysNeeded({ keys }, settings), needed);
      if (!covers(caller.scope, needed)) throw createScopeError(caller, needed);
      return withNamespaceHeader(request, caller);
    },
  };
}

/**
 * Returns the caller with the namespace of the header `X-Memoryd-Namespace`, or unchanged without that header.
 *
 * @throws MemoryError FORBIDDEN for another namespace than the caller's own without the scope `operate`,
 *   INVALID_REQUEST for an invalid name or a repeated header
 */
function withNamespaceHeader(request: FastifyRequest, caller: Caller): Caller {
  const namespace = getSingleHeader(request, 'X-Memoryd-Namespace');
  if (namespace === undefined || namespace === caller.namespace) return caller;
  if (!covers(caller.scope, 'operate')) throw createScopeError(caller, 'operate');
  assertNamespace(namespace);
  return { ...caller, namespace };
}

/** Returns whether local requests need a key. See `Keys.areRequired`. */
export async function areKeysNeeded({ keys }: { keys: Keys }, { apiKey }: AccessSettings): Promise<boolean> {
  return apiKey !== undefined || (await keys.areRequired());
}

/** Returns true for `localhost` and for a loopback address, with or without the brackets of IPv6. */
export function isLoopbackHost(host: string): boolean {
  return host.toLowerCase() === 'localhost' || isLoopbackAddress(host.replace(/^\[(.*)\]$/, '$1'));
}

// Unknown paths need a key too, so that only authorized callers learn that a route does not exist.
function getAccess({ is404, routeOptions }: FastifyRequest): Access {
  return is404 ? 'read' : (routeOptions.config.access ?? 'operate');
}

async function getHolder(key: string, keys: Keys, { apiKey }: AccessSettings): Promise<Caller | undefined> {
  if (apiKey !== undefined && isSame(key, apiKey)) return { ...OPERATOR, keyId: SETTING_KEY_ID };
  const holder = await keys.check(key);
  if (!holder) return undefined;
  const { id: keyId, ...caller } = holder;
  return { ...caller, keyId };
}

// Compares digests in constant time, so that the duration reveals neither the key nor its length.
function isSame(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
}

/**
 * Returns the API key of a request, or `undefined` for a request without a key. Ignores schemes of `Authorization`
 * other than `Bearer`.
 *
 * @throws MemoryError INVALID_REQUEST for two different keys or a repeated header
 */
export function getApiKey(request: FastifyRequest): string | undefined {
  const authorization = getSingleHeader(request, 'Authorization');
  const apiKey = getSingleHeader(request, 'X-API-Key');
  const bearer = /^bearer(?: +(.*))?$/is.exec(authorization ?? '');
  const token = bearer ? (bearer[1] ?? '').trim() : undefined;
  if (token !== undefined && apiKey !== undefined && token !== apiKey.trim()) {
    throw new MemoryError(
      'INVALID_REQUEST',
      'Authorization and X-API-Key must have the same key; send only one of them',
    );
  }
  return token ?? apiKey?.trim();
}

function getSingleHeader(request: FastifyRequest, name: string): string | undefined {
  const values = getValues(request, name.toLowerCase());
  if (values.length > 1) throw new MemoryError('INVALID_REQUEST', `${name} must be given once`);
  return values[0];
}

/**
 * Returns the caller of a route that needs no key. Without a caller, or while the keys cannot be read, the caller is
 * anonymous, so that `/health` responds at once and reports the service as unhealthy.
 */
async function identifySoon(identified: Promise<Caller | undefined>): Promise<Caller> {
  const known = identified.catch((error: unknown) => {
    if (!(error instanceof MemoryError && error.code === 'UNAVAILABLE')) throw error;
  });
  const caller = await Promise.race([known, delay(MAX_IDENTIFY_MS, undefined, { ref: false })]);
  return caller ?? ANONYMOUS;
}

function createMissingKeyError(hasKeys: boolean, needed: Scope): MemoryError {
  const why = hasKeys
    ? 'an API key is required, as Authorization: Bearer KEY or X-API-Key: KEY'
    : 'access from another machine requires an API key, and none has been created yet';
  return createUnauthorizedError(why, needed);
}

function createUnauthorizedError(why: string, needed: Scope): MemoryError {
  const how = howToMakeAKey({ namespace: DEFAULTS.namespace, scope: needed });
  return new MemoryError('UNAUTHORIZED', `${why}; to create one: ${how}`);
}

function createScopeError({ namespace, scope }: Caller, needed: Scope): MemoryError {
  const how = howToMakeAKey({ namespace, scope: needed });
  return new MemoryError(
    'FORBIDDEN',
    `the API key must have the scope ${needed}, but has ${scope}; to create a key with that scope: ${how}`,
  );
}

function isLocalRequest(request: FastifyRequest): boolean {
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

/**
 * Protects against DNS rebinding: refuses a request whose Host header is a foreign name, which an attacker's DNS server
 * may resolve to this machine.
 */
function checkHost(request: FastifyRequest, ownHost: string): void {
  const [host, ...more] = getValues(request, 'host');
  // HTTP/1.0 does not require Host, and no browser uses HTTP/1.0.
  if (host === undefined && request.raw.httpVersion === '1.0') return;
  // RFC 9112, section 3.2: a request must have exactly one Host header.
  if (host === undefined || more.length > 0) {
    throw new MemoryError('INVALID_REQUEST', 'the Host header must be given once');
  }
  const name = host.toLowerCase().replace(/:[0-9]*$/, '');
  if (name === 'localhost' || name === '[::1]' || (isIPv4(name) && name.startsWith('127.'))) return;
  if (name === ownHost || name === `[${ownHost}]`) return;
  throw new MemoryError(
    'FORBIDDEN',
    'the Host header must be localhost, a loopback address or the value of SERVICE_HOST',
  );
}
