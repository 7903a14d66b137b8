import { LIMITS, type RememberedRecall } from '@memoryd/contract';
import { copyString, type Owner, type OwnerFilter } from '@memoryd/search';
import type { ForgottenScope, ScopeListener } from './forgotten-scopes.ts';

/** Maximum size of all recalls together, and of namespaces. */
const MAX = { bytes: 64 * 2 ** 20, namespaces: 1000 };

/** Approximate size of a recall and of a result, without their texts. */
const RECALL_BYTES = 300;
const RESULT_BYTES = 100;

/** Maximum forgotten scopes that are known by name. A recall that began before more of them is not remembered. */
const MAX_FORGOTTEN = 100;

/** A memory that a recall returned. `score`: absent if no query found it. */
interface RecalledId {
  id: string;
  score?: number | undefined;
}

/** A recall, or a context that an agent was given. */
export interface NewRecall {
  id: string;
  at: number;
  kind: RememberedRecall['kind'];
  /** Empty for a context without a query. */
  query: string;
  /** The users and agents that the recall was limited to. */
  of: OwnerFilter;
  sessionId?: string | undefined;
  results: readonly RecalledId[];
}

/** A remembered recall. `number`: its place in the order of all recalls. `userId` is empty if it asked for all users. */
export interface StoredRecall extends Owner {
  number: number;
  id: string;
  at: number;
  kind: RememberedRecall['kind'];
  query: string;
  sessionId: string | undefined;
  /** All results, best first. */
  results: readonly RecalledId[];
  bytes: number;
}

/** The recalls of a namespace, oldest first. */
interface NamespaceRecalls {
  recalls: StoredRecall[];
  bytes: number;
}

/** The users and agents whose recalls are listed: all if absent. */
export interface RecallScope {
  userId?: string | undefined;
  agentId?: string | undefined;
}

/**
 * The last recalls of each namespace, in memory only, so that a recall costs no write. At the limit of bytes, the oldest
 * recall of the namespace with the most bytes is dropped, so that no namespace displaces the recalls of another.
 */
export class RememberedRecalls implements ScopeListener {
  /** In the order of their last recalls. */
  readonly #namespaces = new Map<string, NamespaceRecalls>();
  readonly #max: typeof MAX;
  #bytes = 0;
  #last = 0;
  /** The last forgotten scopes, oldest first. */
  #forgotten: ForgottenScope[] = [];
  #forgottenCount = 0;

  constructor(max: typeof MAX = MAX) {
    this.#max = max;
  }

  /** Returns the number of scopes that have been forgotten, for `add` at the end of a recall that begins now. */
  begin(): number {
    return this.#forgottenCount;
  }

  /**
   * Remembers a recall, unless its scope was forgotten while it ran.
   *
   * @param begun the result of `begin` at the begin of the recall; by default, the recall began and ended now
   */
  add(namespace: string, { id, at, kind, query, of, sessionId, results }: NewRecall, begun = this.begin()): void {
    const stored: StoredRecall = {
      ...{ number: ++this.#last, id, at, kind, sessionId },
      // A query can be a part of a long body, which must not stay in memory with it.
      query: copyString(query),
      userId: of.userIds?.[0] ?? '',
      agentId: of.agentIds?.[0] ?? '',
      results,
      bytes: 0,
    };
    if (this.#isForgotten(namespace, stored, begun)) return;
    stored.bytes = RECALL_BYTES + 2 * query.length + results.length * RESULT_BYTES;
    const own = this.#namespaces.get(namespace) ?? { recalls: [], bytes: 0 };
    this.#namespaces.delete(namespace);
    this.#namespaces.set(namespace, own);
    own.recalls.push(stored);
    this.#count(own, stored.bytes);
    if (own.recalls.length > LIMITS.rememberedRecalls) this.#dropOldest(own);
    this.#dropExcess();
  }

  /**
   * Returns the recalls that asked for the memories of a scope, newest first. A recall over all users belongs to no user,
   * because it may have returned the memories of any.
   *
   * @param memoryId only recalls that returned this memory
   */
  list(namespace: string, { userId, agentId }: RecallScope, memoryId?: string): StoredRecall[] {
    const all = this.#namespaces.get(namespace)?.recalls ?? [];
    const matching = all.filter(
      (recall) =>
        (userId === undefined || recall.userId === userId) &&
        (agentId === undefined || recall.agentId === agentId) &&
        (memoryId === undefined || recall.results.some(({ id }) => id === memoryId)),
    );
    return matching.reverse();
  }

  forget(scope: ForgottenScope): void {
    this.#forgottenCount++;
    this.#forgotten = [...this.#forgotten, scope].slice(-MAX_FORGOTTEN);
    this.#drop(scope);
  }

  forgetAll(): void {
    this.#forgottenCount++;
    this.#forgotten = [];
    this.#namespaces.clear();
    this.#bytes = 0;
  }

  #isForgotten(namespace: string, recall: StoredRecall, begun: number): boolean {
    const count = this.#forgottenCount - begun;
    if (count > this.#forgotten.length) return true;
    const since = this.#forgotten.slice(this.#forgotten.length - count);
    return since.some((scope) => scope.namespace === namespace && isOfScope(recall, scope));
  }

  #drop(scope: ForgottenScope): void {
    const own = this.#namespaces.get(scope.namespace);
    if (!own) return;
    const left = own.recalls.filter((recall) => !isOfScope(recall, scope));
    this.#count(own, left.reduce((sum, { bytes }) => sum + bytes, 0) - own.bytes);
    own.recalls = left;
    if (left.length === 0) this.#namespaces.delete(scope.namespace);
  }

  #count(own: NamespaceRecalls, bytes: number): void {
    own.bytes += bytes;
    this.#bytes += bytes;
  }

  #dropOldest(own: NamespaceRecalls): void {
    const oldest = own.recalls.shift();
    if (oldest) this.#count(own, -oldest.bytes);
  }

  #dropExcess(): void {
    const [leastUsed] = this.#namespaces.keys();
    if (this.#namespaces.size > this.#max.namespaces && leastUsed !== undefined) this.#drop({ namespace: leastUsed });
    while (this.#bytes > this.#max.bytes) {
      const all = [...this.#namespaces.values()];
      this.#dropOldest(all.reduce((largest, other) => (other.bytes > largest.bytes ? other : largest)));
    }
  }
}

/** Returns whether a recall of the namespace of a scope is of the scope. */
function isOfScope(recall: StoredRecall, { userId, agentId, sessionId }: ForgottenScope): boolean {
  return (
    (userId === undefined || recall.userId === userId) &&
    (agentId === undefined || recall.agentId === agentId) &&
    (sessionId === undefined || recall.sessionId === sessionId)
  );
}
