import { hash, timingSafeEqual } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { covers, DEFAULTS, MemoryError, type NewKey, type Scope } from '@memoryd/contract';
import { assertNamespace, type Engine, type Keys } from '@memoryd/engine';
import type { FastifyRequest } from 'fastify';
import type { Access, Caller } from '../caller.ts';
import type { Settings } from '../settings/read.ts';
import { getValues } from './request-headers.ts';

/** Headers, beside `X-Forwarded-*`, by which proxies say that they pass a request on for somebody else. */
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

/** Whoever calls this machine from itself while no key was ever made. */
const OPERATOR: Caller = { namespace: DEFAULTS.namespace, scope: 'operate' };

/** Whoever shows no key where none is needed. */
const NOBODY: Caller = { namespace: DEFAULTS.namespace, scope: 'read' };

/** The id of the key that a setting gives. */
const SETTING_KEY_ID = 'SERVICE_API_KEY';

/** What makes a key, as far as callers may know: where the database is stays with whoever runs the service. */
export function howToMakeAKey({ namespace, scope }: NewKey): string {
  return `memoryd keys add --namespace ${namespace} --scope ${scope}, on the service's own database`;
}

type AccessSettings = Pick<Settings, 'host' | 'apiKey'>;

/** Decides who calls and whether they may. */
export interface Gate {
  /**
   * Who asks for something: the holder of the key that the request shows, or, while there are no keys, whoever is on this
   * machine, as long as the Host header names it.
   *
   * @throws MemoryError UNAUTHORIZED without a good key, FORBIDDEN for a key of too small a scope or a foreign Host,
   *   INVALID_REQUEST for two keys, or unless Host is given once, UNAVAILABLE where the keys cannot be read
   */
  admit(request: FastifyRequest): Promise<Caller>;
}

export function createGate({ keys }: Pick<Engine, 'keys'>, settings: AccessSettings): Gate {
  const ownHost = settings.host.toLowerCase();

  async function identify(request: FastifyRequest, isHere: boolean, needed: Scope): Promise<Caller | undefined> {
    const key = shownKey(request);
    if (key === undefined) return isHere && !(await areKeysNeeded({ keys }, settings)) ? OPERATOR : undefined;
    const holder = await getHolder(key, keys, settings);
    if (!holder) throw unauthorized('the API key is unknown or revoked, or has expired', needed);
    return holder;
  }

  return {
    async admit(request) {
      const isHere = isFromHere(request);
      if (isHere) checkHost(request, ownHost);
      const needed = getAccess(request);
      if (needed === 'anyone') return (await identify(request, isHere, 'read').catch(ifUnavailable)) ?? NOBODY;
      const caller = await identify(request, isHere, needed);
      if (!caller) throw keyNeeded(await areKeysNeeded({ keys }, settings), needed);
      if (!covers(caller.scope, needed)) throw scopeTooSmall(caller, needed);
      return inNamedNamespace(request, caller);
    },
  };
}

/**
 * The caller in the namespace that `X-Memoryd-Namespace` names, if it is there.
 *
 * @throws MemoryError FORBIDDEN without the scope `operate`, INVALID_REQUEST for a header that is no name or comes twice
 */
function inNamedNamespace(request: FastifyRequest, caller: Caller): Caller {
  const [namespace] = onceAtMost(request, 'X-Memoryd-Namespace');
  if (namespace === undefined || namespace === caller.namespace) return caller;
  if (!covers(caller.scope, 'operate')) throw scopeTooSmall(caller, 'operate');
  assertNamespace(namespace);
  return { ...caller, namespace };
}

/** Whether requests from this machine itself need a key. See `Keys.areNeeded`. */
export async function areKeysNeeded({ keys }: { keys: Keys }, { apiKey }: AccessSettings): Promise<boolean> {
  return apiKey !== undefined || (await keys.areNeeded());
}

/** Whether a host is one that only this machine reaches. */
export function isLoopbackHost(host: string): boolean {
  return host.toLowerCase() === 'localhost' || isLoopbackAddress(host.replace(/^\[(.*)\]$/, '$1'));
}

// What is not there is asked for with a key too: only who may call is told that.
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

// Of digests, so that the time that it takes tells nothing of the length either.
function isSame(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
}

/**
 * The key that a request shows; undefined where it shows none. Of `Authorization`, other schemes than `Bearer` are not
 * about keys.
 *
 * @throws MemoryError INVALID_REQUEST for more than one key, and for a header that comes twice
 */
export function shownKey(request: FastifyRequest): string | undefined {
  const [authorization] = onceAtMost(request, 'Authorization');
  const [apiKey] = onceAtMost(request, 'X-API-Key');
  const bearer = /^bearer(?: +(.*))?$/is.exec(authorization ?? '');
  const shown = bearer ? (bearer[1] ?? '').trim() : undefined;
  if (shown !== undefined && apiKey !== undefined && shown !== apiKey.trim()) {
    throw new MemoryError('INVALID_REQUEST', 'Authorization and X-API-Key must show the same key, or one of them none');
  }
  return shown ?? apiKey?.trim();
}

function onceAtMost(request: FastifyRequest, name: string): string[] {
  const values = getValues(request, name.toLowerCase());
  if (values.length > 1) throw new MemoryError('INVALID_REQUEST', `${name} must be given once`);
  return values;
}

// Health is told, and told as unhealthy, while keys cannot be read.
function ifUnavailable(error: unknown): undefined {
  if (!(error instanceof MemoryError && error.code === 'UNAVAILABLE')) throw error;
}

function keyNeeded(exist: boolean, needed: Scope): MemoryError {
  const why = exist
    ? 'an API key is needed, as Authorization: Bearer KEY or X-API-Key: KEY'
    : 'access from elsewhere needs an API key, and there is none yet';
  return unauthorized(why, needed);
}

function unauthorized(why: string, needed: Scope): MemoryError {
  const how = howToMakeAKey({ namespace: DEFAULTS.namespace, scope: needed });
  return new MemoryError('UNAUTHORIZED', `${why}; to make one: ${how}`);
}

function scopeTooSmall({ namespace, scope }: Caller, needed: Scope): MemoryError {
  const how = howToMakeAKey({ namespace, scope: needed });
  return new MemoryError(
    'FORBIDDEN',
    `the API key may ${scope}, and this is to ${needed}; to make one that may: ${how}`,
  );
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
  const [host, ...more] = getValues(request, 'host');
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
