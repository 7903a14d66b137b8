import type { MemoryFilter } from '../../../ports/storage.ts';
import { type Connection, sql } from '../connection.ts';
import { isOpen, liveAndPassing } from '../filter.ts';

/** Which memories a search may answer with. */
export interface Scope {
  allows(ordinal: number): boolean;
  /** All that are allowed, where they are few enough to be looked at one by one. */
  few?: number[];
}

/** Up to so many allowed memories are each scored exactly instead of being looked for in the word index. */
const FEW = 1000;

/** The scope of a filter at a time. It takes part in the scans of words and vectors, before the best are taken. */
export function scopeOf(connection: Connection, namespace: string, filter: MemoryFilter, now: number): Scope {
  if (isOpen(filter)) return withoutExpired(connection, namespace, now);
  const passing = liveAndPassing(namespace, filter, now);
  const ordinals = sql(connection, `SELECT m.ordinal FROM ${passing.from} WHERE ${passing.where}`)
    .pluck()
    .all(passing.values) as number[];
  const allowed = new Set(ordinals);
  const allows = (ordinal: number) => allowed.has(ordinal);
  return ordinals.length <= FEW ? { allows, few: ordinals } : { allows };
}

// The indexes hold what is in a tier, expired or not: those that wait for eviction are the exception.
function withoutExpired(connection: Connection, namespace: string, now: number): Scope {
  const expired = new Set(
    sql(
      connection,
      `SELECT ordinal FROM memory INDEXED BY memory_expiring WHERE namespace = ? AND expires_at <= ?
         AND merged_into IS NULL AND evicted_at IS NULL`,
    )
      .pluck()
      .all(namespace, now) as number[],
  );
  return { allows: expired.size === 0 ? () => true : (ordinal) => !expired.has(ordinal) };
}
