/** Time after the last context of a session for which the given memories are remembered. */
const LIFETIME_MS = 24 * 60 * 60 * 1000;

/** Maximum memories that are remembered for one session. The memories that were given first are forgotten first. */
const MAX_PER_SESSION = 5000;

/** Maximum sessions, and memories of all sessions together, that are remembered. */
const LIMITS = { sessions: 10_000, memories: 250_000 };

/** A session that asks for context. `userId` and `agentId` are empty for a session without one. */
export interface AskingSession {
  namespace: string;
  userId: string;
  agentId: string;
  sessionId: string;
}

/** The memories that one session was given. */
export interface Given {
  /** Ordinals of the given memories, the first given first. */
  ordinals: ReadonlySet<number>;
  /** Time of the last reset. Absent if the session was never reset. */
  resetAt?: number;
}

interface Entry extends Given {
  ordinals: Set<number>;
  expiresAt: number;
}

/** The sessions of one user, the least recently used first. A session counts as one memory more than it was given. */
interface UserSessions {
  entries: Map<string, Entry>;
  size: number;
}

/** The memories of a session that was given none. */
export const NOTHING: Given = { ordinals: new Set() };

/**
 * Tracks which memories each session was given, so that a context gives a memory once. Kept in this process only: a
 * write to the database would cost each request a commit, and the loss costs little. After a restart, and on another
 * process of the same database, a session is given a memory again, and until the next reset it is not given what was
 * stored in it before an earlier reset. At the limit, the oldest session of the user with the most entries, in the
 * namespace with the most, is evicted, so that no user displaces another.
 */
export class GivenMemories {
  /** By namespace and user. */
  readonly #namespaces = new Map<string, Map<string, UserSessions>>();
  readonly #limits: typeof LIMITS;
  #sessions = 0;
  #memories = 0;

  constructor(limits: typeof LIMITS = LIMITS) {
    this.#limits = limits;
  }

  /** Returns what was given in a session. */
  get(session: AskingSession, now: number): Given {
    const { entries } = this.#namespaces.get(session.namespace)?.get(session.userId) ?? {};
    const entry = entries?.get(toKey(session));
    return entry && now < entry.expiresAt ? entry : NOTHING;
  }

  /** Remembers that memories were given in a session. */
  add(session: AskingSession, ordinals: readonly number[], now: number): void {
    const { resetAt, ordinals: before } = this.get(session, now);
    const all = [...new Set([...before, ...ordinals])].slice(-MAX_PER_SESSION);
    this.#set(session, { ordinals: new Set(all), ...(resetAt !== undefined && { resetAt }) }, now);
  }

  /** Forgets what was given in a session, and remembers the time. */
  reset(session: AskingSession, now: number): void {
    this.#set(session, { ordinals: new Set(), resetAt: now }, now);
  }

  /** Replaces the entry of a session, which becomes the most recently used one of its user. */
  #set(session: AskingSession, given: Omit<Entry, 'expiresAt'>, now: number): void {
    const users = this.#namespaces.get(session.namespace) ?? new Map<string, UserSessions>();
    const user = users.get(session.userId) ?? { entries: new Map<string, Entry>(), size: 0 };
    this.#namespaces.set(session.namespace, users.set(session.userId, user));
    this.#delete(user, toKey(session));
    user.entries.set(toKey(session), { ...given, expiresAt: now + LIFETIME_MS });
    user.size += given.ordinals.size + 1;
    this.#sessions += 1;
    this.#memories += given.ordinals.size;
    while (this.#sessions > this.#limits.sessions || this.#memories > this.#limits.memories) this.#evictOldest();
  }

  #delete(user: UserSessions, key: string): void {
    const entry = user.entries.get(key);
    if (!entry) return;
    user.entries.delete(key);
    user.size -= entry.ordinals.size + 1;
    this.#sessions -= 1;
    this.#memories -= entry.ordinals.size;
  }

  #evictOldest(): void {
    const [namespace, users] = getLargest(this.#namespaces, (each) => {
      let size = 0;
      for (const user of each.values()) size += user.size;
      return size;
    });
    const [userId, user] = getLargest(users, ({ size }) => size);
    const [oldest = ''] = user.entries.keys();
    this.#delete(user, oldest);
    if (user.size === 0) users.delete(userId);
    if (users.size === 0) this.#namespaces.delete(namespace);
  }
}

/** Returns the entry of the largest value. The map must have an entry. */
function getLargest<Value>(map: ReadonlyMap<string, Value>, getSize: (value: Value) => number): [string, Value] {
  let largest: [string, Value] | undefined;
  let largestSize = -1;
  for (const entry of map) {
    const size = getSize(entry[1]);
    if (size > largestSize) [largest, largestSize] = [entry, size];
  }
  return largest as [string, Value];
}

function toKey({ agentId, sessionId }: AskingSession): string {
  return JSON.stringify([agentId, sessionId]);
}
