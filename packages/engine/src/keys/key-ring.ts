import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import {
  type ApiKey,
  assertValid,
  createCheck,
  invalidRequest,
  LIMITS,
  type MadeKey,
  MemoryError,
  NewKey,
} from '@memoryd/contract';
import { LRUCache } from 'lru-cache';
import { toMsOrNull, toTimestamp, toTimestampOrNull } from '../core/time.ts';
import type { KeyHolder, KeySnapshot, KeyStore, Keys, StoredKey } from '../ports/administration.ts';
import type { Notices } from '../ports/coordination.ts';
import type { Clock } from '../ports/runtime.ts';

/** How old the keys at hand may be: read again beside what goes on, and at the most, when everybody waits for it. */
const RENEWED_AFTER_MS = 400;
const OLDEST_MS = 900;

/** A use is noted only so often: each is a write. */
const USE_NOTED_EVERY_MS = 300_000;

const ID_BYTES = 8;
const SECRET_BYTES = 32;

const check = createCheck(NewKey, 'key');

/** The keys at hand, by which read of the store, and when it was begun on a clock that only goes forward. */
interface AtHand extends Omit<KeySnapshot, 'keys'> {
  byId: ReadonlyMap<string, StoredKey>;
  readNumber: number;
  askedAtMs: number;
}

interface KeyRingOptions {
  /** By which other processes tell that they made or revoked a key, and are told of it. */
  notices?: Notices | undefined;
  /** Time since whenever, that only goes forward. */
  elapsedMs?: () => number;
}

/**
 * API keys, of which those of the store are kept at hand for less than a second, and no longer than until they change.
 * A key that is not among them is looked for in the store, so that it opens as soon as it was made.
 */
export class KeyRing implements Keys {
  readonly #store: KeyStore;
  readonly #clock: Clock;
  readonly #elapsedMs: () => number;
  readonly #notices: Notices | undefined;
  #atHand: AtHand | undefined;
  #reading: Promise<AtHand> | undefined;
  #readsBegun = 0;
  /** When the last use of a key was noted that this process has seen. */
  readonly #noted = new LRUCache<string, number>({ max: LIMITS.keys });

  constructor(store: KeyStore, clock: Clock, { notices, elapsedMs = () => performance.now() }: KeyRingOptions = {}) {
    this.#store = store;
    this.#clock = clock;
    this.#elapsedMs = elapsedMs;
    this.#notices = notices;
  }

  /** Begins to hear of keys that other processes make and revoke. */
  async start(): Promise<void> {
    const forget = () => void this.#forgetAtHand();
    await this.#notices?.hear('keys', { heard: forget, missed: forget });
  }

  async add(request: NewKey): Promise<MadeKey> {
    assertValid(check, request);
    assertBindable(request);
    const id = randomBytes(ID_BYTES).toString('hex');
    const secret = randomBytes(SECRET_BYTES).toString('hex');
    const digest = getDigest(secret).toString('hex');
    const { namespace, scope, name = '', user_id, agent_id } = request;
    const key = {
      ...{ id, namespace, userId: user_id ?? '', agentId: agent_id ?? '', scope, name, digest },
      createdAt: this.#clock.now(),
      expiresAt: toMsOrNull(request.expires_at, 'expires_at'),
      lastUsedAt: null,
      revokedAt: null,
    };
    if (!(await this.#store.add(key))) {
      throw new MemoryError('CONFLICT', `the database has ${LIMITS.keys} keys, as many as it may`);
    }
    await this.#changed();
    return { ...toApiKey(key), key: keyText({ id, secret }) };
  }

  async list(): Promise<ApiKey[]> {
    const { keys } = (await this.#store.read()) as KeySnapshot;
    return keys.map(toApiKey);
  }

  async revoke(id: string): Promise<void> {
    const known = await this.#store.revoke(id, this.#clock.now());
    if (!known)
      throw new MemoryError('NOT_FOUND', 'there is no key with this id; `memoryd keys list` names those there are');
    await this.#changed();
  }

  async check(text: string): Promise<KeyHolder | undefined> {
    const parts = keyParts(text);
    if (!parts) return undefined;
    const key = await this.#find(parts.id);
    if (!key || !timingSafeEqual(getDigest(parts.secret), Buffer.from(key.digest, 'hex'))) return undefined;
    const now = this.#clock.now();
    if (key.revokedAt !== null || (key.expiresAt !== null && key.expiresAt <= now)) return undefined;
    this.#noteUse(key, now);
    const { id, namespace, userId, agentId, scope } = key;
    return { id, namespace, scope, ...(userId && { userId }), ...(agentId && { agentId }) };
  }

  async areNeeded(): Promise<boolean> {
    return !(await this.#current()).isLoopbackOpen;
  }

  async openLoopback(): Promise<void> {
    await this.#store.openLoopback();
    await this.#changed();
  }

  // Nobody waits for it, and a request is not refused because it fails.
  #noteUse({ id, lastUsedAt }: StoredKey, now: number): void {
    if (now - (this.#noted.get(id) ?? lastUsedAt ?? 0) < USE_NOTED_EVERY_MS) return;
    this.#noted.set(id, now);
    this.#store.noteUse(id, now).catch(() => this.#noted.delete(id));
  }

  // Not there is what a read did not find that was begun after the question, not one that was already under way.
  async #find(id: string): Promise<StoredKey | undefined> {
    const begunBefore = this.#readsBegun;
    let atHand = await this.#current();
    while (!atHand.byId.has(id) && atHand.readNumber <= begunBefore) atHand = await this.#read();
    return atHand.byId.get(id);
  }

  async #current(): Promise<AtHand> {
    const age = this.#atHand ? this.#elapsedMs() - this.#atHand.askedAtMs : Number.POSITIVE_INFINITY;
    if (this.#atHand && age < RENEWED_AFTER_MS) return this.#atHand;
    const read = this.#read();
    if (!this.#atHand || age > OLDEST_MS) return read;
    // Whoever comes when these are too old sees the error, if there still is one.
    read.catch(() => {});
    return this.#atHand;
  }

  async #changed(): Promise<void> {
    this.#notices?.tell('keys', '');
    await this.#forgetAtHand();
  }

  // What is being read may be of before the write.
  async #forgetAtHand(): Promise<void> {
    await this.#reading?.catch(() => {});
    this.#atHand = undefined;
  }

  #read(): Promise<AtHand> {
    this.#reading ??= this.#readNow().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readNow(): Promise<AtHand> {
    const asked = { readNumber: ++this.#readsBegun, askedAtMs: this.#elapsedMs() };
    const before = this.#atHand;
    const read = await this.#store.read(before?.changes);
    const atHand = read
      ? {
          changes: read.changes,
          isLoopbackOpen: read.isLoopbackOpen,
          byId: new Map(read.keys.map((key) => [key.id, key])),
          ...asked,
        }
      : { ...(before as AtHand), ...asked };
    this.#atHand = atHand;
    return atHand;
  }
}

/** Throws INVALID_REQUEST for a key that is bound and may do what is about all users. */
function assertBindable({ scope, user_id, agent_id }: NewKey): void {
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

/** What every key begins with, so that people and scanners know one where they see it. */
const PREFIX = 'mmd';

const KEY = /^mmd_([0-9a-f]{16})_([0-9a-f]{64})$/;

/** The two parts of a key: a public id of 64 bits and a secret of 256, in hexadecimal digits. */
interface KeyParts {
  id: string;
  secret: string;
}

/** A key as its holder shows it. */
function keyText({ id, secret }: KeyParts): string {
  return `${PREFIX}_${id}_${secret}`;
}

/** The parts of a key; undefined for a text that is none. */
function keyParts(text: string): KeyParts | undefined {
  const [, id, secret] = KEY.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}
