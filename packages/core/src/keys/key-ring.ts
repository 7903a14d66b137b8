import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import {
  type ApiKey,
  type ApiKeyWithSecret,
  assertValid,
  createCheck,
  invalidRequest,
  LIMITS,
  MemoryError,
  NewKey,
} from '@memoryd/contract';
import { LRUCache } from 'lru-cache';
import type { KeyHolder, KeySnapshot, KeyStore, Keys, StoredKey } from '../ports/administration.ts';
import type { Notices } from '../ports/coordination.ts';
import type { Clock } from '../ports/runtime.ts';
import { toMsOrNull, toTimestamp, toTimestampOrNull } from '../time.ts';

/** Age from which the cached keys are reloaded in the background. */
const REFRESH_AFTER_MS = 400;

/** Maximum age of the cached keys. If the keys are older, callers wait for the reload. */
const MAX_AGE_MS = 900;

/** Minimum interval in ms between two records of the use of a key, because each record is a write. */
const USE_RECORD_INTERVAL_MS = 300_000;

const ID_BYTES = 8;
const SECRET_BYTES = 32;

const check = createCheck(NewKey, 'key');

/**
 * The cached keys. `readNumber` numbers the reads of the store; `startedAtMs` is the start of the read on a monotonic
 * clock.
 */
interface CachedKeys extends Omit<KeySnapshot, 'keys'> {
  byId: ReadonlyMap<string, StoredKey>;
  readNumber: number;
  startedAtMs: number;
}

interface KeyRingOptions {
  /** Notifies other processes of created and revoked keys, and receives their notices. */
  notices?: Notices | undefined;
  /** Monotonic clock, in ms. */
  elapsedMs?: () => number;
}

/**
 * Manages API keys with a cache of the store. The cache is used for at most .9 seconds, and is dropped when this
 * process changes a key or receives a notice of a change. A key that is missing in the cache is read from the store, so
 * that a new key is valid immediately.
 */
export class KeyRing implements Keys {
  readonly #store: KeyStore;
  readonly #clock: Clock;
  readonly #elapsedMs: () => number;
  readonly #notices: Notices | undefined;
  #cache: CachedKeys | undefined;
  #reading: Promise<CachedKeys> | undefined;
  #readsBegun = 0;
  /** Time of the last use that this process recorded, by key id. */
  readonly #noted = new LRUCache<string, number>({ max: LIMITS.keys });

  constructor(store: KeyStore, clock: Clock, { notices, elapsedMs = () => performance.now() }: KeyRingOptions = {}) {
    this.#store = store;
    this.#clock = clock;
    this.#elapsedMs = elapsedMs;
    this.#notices = notices;
  }

  /** Subscribes to changes of keys by other processes. */
  async start(): Promise<void> {
    const invalidate = () => void this.#invalidate();
    await this.#notices?.subscribe('keys', { onNotice: invalidate, onGap: invalidate });
  }

  async add(request: NewKey): Promise<ApiKeyWithSecret> {
    assertNewKey(request);
    const id = randomBytes(ID_BYTES).toString('hex');
    const secret = randomBytes(SECRET_BYTES).toString('hex');
    const digest = getDigest(secret).toString('hex');
    const { namespace, scope, name, user_id, agent_id } = request;
    const key = {
      ...{ id, namespace, userId: user_id ?? '', agentId: agent_id ?? '', scope, name: name ?? '', digest },
      createdAt: this.#clock.now(),
      expiresAt: toMsOrNull(request.expires_at, 'expires_at'),
      lastUsedAt: null,
      revokedAt: null,
    };
    if (!(await this.#store.add(key))) {
      throw new MemoryError(
        'CONFLICT',
        `the database already has the maximum of ${LIMITS.keys} API keys, including revoked keys; delete an unused ` +
          'namespace with `memoryd namespaces delete` to delete its keys',
      );
    }
    await this.#publishChange();
    return { ...toApiKey(key), key: formatKey({ id, secret }) };
  }

  async list(): Promise<ApiKey[]> {
    const { keys } = (await this.#store.read()) as KeySnapshot;
    return keys.map(toApiKey);
  }

  async revoke(id: string): Promise<void> {
    const isKnown = await this.#store.revoke(id, this.#clock.now());
    if (!isKnown)
      throw new MemoryError('NOT_FOUND', 'there is no key with this id; `memoryd keys list` shows all keys');
    await this.#publishChange();
  }

  async check(text: string): Promise<KeyHolder | undefined> {
    const parts = parseKey(text);
    if (!parts) return undefined;
    const key = await this.#find(parts.id);
    if (!key || !timingSafeEqual(getDigest(parts.secret), Buffer.from(key.digest, 'hex'))) return undefined;
    const now = this.#clock.now();
    if (key.revokedAt !== null || (key.expiresAt !== null && key.expiresAt <= now)) return undefined;
    this.#recordUse(key, now);
    const { id, namespace, userId, agentId, scope } = key;
    return { id, namespace, scope, ...(userId && { userId }), ...(agentId && { agentId }) };
  }

  async areRequired(): Promise<boolean> {
    return !(await this.#getCurrent()).isLoopbackOpen;
  }

  async openLoopback(): Promise<void> {
    await this.#store.openLoopback();
    await this.#publishChange();
  }

  // Records the use in the background. A failure does not affect the request.
  #recordUse({ id, lastUsedAt }: StoredKey, now: number): void {
    if (now - (this.#noted.get(id) ?? lastUsedAt ?? 0) < USE_RECORD_INTERVAL_MS) return;
    this.#noted.set(id, now);
    this.#store.recordUse(id, now).catch(() => this.#noted.delete(id));
  }

  // A key is unknown only if a read that began after this call does not return the key. A read that was already in
  // progress may be too old.
  async #find(id: string): Promise<StoredKey | undefined> {
    const begunBefore = this.#readsBegun;
    let cached = await this.#getCurrent();
    while (!cached.byId.has(id) && cached.readNumber <= begunBefore) cached = await this.#read();
    return cached.byId.get(id);
  }

  async #getCurrent(): Promise<CachedKeys> {
    const age = this.#cache ? this.#elapsedMs() - this.#cache.startedAtMs : Number.POSITIVE_INFINITY;
    if (this.#cache && age < REFRESH_AFTER_MS) return this.#cache;
    const read = this.#read();
    if (!this.#cache || age > MAX_AGE_MS) return read;
    // The error is ignored here. If the error persists, callers get it once the cached keys are too old.
    read.catch(() => {});
    return this.#cache;
  }

  async #publishChange(): Promise<void> {
    this.#notices?.publish('keys', '');
    await this.#invalidate();
  }

  // Waits for the read in progress, which may have begun before the write and would fill the cache with old keys.
  async #invalidate(): Promise<void> {
    await this.#reading?.catch(() => {});
    this.#cache = undefined;
  }

  #read(): Promise<CachedKeys> {
    this.#reading ??= this.#readNow().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readNow(): Promise<CachedKeys> {
    const readStart = { readNumber: ++this.#readsBegun, startedAtMs: this.#elapsedMs() };
    const before = this.#cache;
    const read = await this.#store.read(before?.changes);
    const cached = read
      ? {
          changes: read.changes,
          isLoopbackOpen: read.isLoopbackOpen,
          byId: new Map(read.keys.map((key) => [key.id, key])),
          ...readStart,
        }
      : { ...(before as CachedKeys), ...readStart };
    this.#cache = cached;
    return cached;
  }
}

/**
 * Throws INVALID_REQUEST for an invalid field, and for a key that is bound to a user or an agent and has a scope for the
 * whole namespace.
 */
export function assertNewKey(request: NewKey): void {
  assertValid(check, request);
  const { scope, user_id, agent_id } = request;
  if ((user_id ?? agent_id ?? null) === null || scope === 'read' || scope === 'write') return;
  const message = 'scope must be read or write for a key that is bound to a user or an agent';
  throw invalidRequest([{ path: '/scope', message }]);
}

function getDigest(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

function toApiKey({ id, namespace, userId, agentId, scope, name, ...times }: StoredKey): ApiKey {
  return {
    ...{ id, namespace, scope, ...(userId && { user_id: userId }), ...(agentId && { agent_id: agentId }), name },
    created_at: toTimestamp(times.createdAt),
    expires_at: toTimestampOrNull(times.expiresAt),
    last_used_at: toTimestampOrNull(times.lastUsedAt),
    revoked_at: toTimestampOrNull(times.revokedAt),
  };
}

/** Prefix of every key, so that people and secret scanners recognize keys. */
const PREFIX = 'mmd';

const KEY = /^mmd_([0-9a-f]{16})_([0-9a-f]{64})$/;

/** The parts of a key: a public id of 64 bits and a secret of 256 bits, in hexadecimal digits. */
interface KeyParts {
  id: string;
  secret: string;
}

function formatKey({ id, secret }: KeyParts): string {
  return `${PREFIX}_${id}_${secret}`;
}

/** Parses the text of a key. Returns undefined for an invalid text. */
function parseKey(text: string): KeyParts | undefined {
  const [, id, secret] = KEY.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}
