import { hash } from 'node:crypto';
import type { SqlRunner } from '@memoryd/core';

/*
 * Keys of advisory locks of PostgreSQL: 64-bit digests of names. Two locks with the same digest are very unlikely, and
 * would only wait for each other. All locks except `VECTOR_INDEX_LOCK` are held until the transaction ends.
 */
function toLockKey(name: string): bigint {
  return BigInt.asIntN(64, hash('sha256', `memoryd\0${name}`, 'buffer').readBigUInt64BE());
}

/** Held while the schema is migrated. */
export const SCHEMA_LOCK = toLockKey('schema');

/** Held while the vector index of a model is built. */
export const VECTOR_INDEX_LOCK = toLockKey('vector index');

/** Held shared by writes to a namespace, and exclusively by changes of the schema or of the model in use. */
const MODEL_LOCK = toLockKey('model');

/** Held while API keys are created, revoked or deleted, because their number is limited, and by schema changes. */
const KEYS_LOCK = toLockKey('keys');

/** Statement that waits for writes of memories and API keys, and blocks such writes until its transaction ends. */
export const BLOCK_WRITERS = `SELECT pg_advisory_xact_lock(${MODEL_LOCK}), pg_advisory_xact_lock(${KEYS_LOCK})`;

/**
 * Locks of a transaction. `exclusive` and `exclusiveNamespaces`: no other transaction writes to the namespace.
 * `shared`: other transactions can add memories to the namespace, but cannot change memories. `model`: no other
 * transaction writes memories or changes the model in use. `keys`: no other transaction changes API keys.
 */
export type Hold =
  | Exclude<Parameters<SqlRunner['write']>[0], 'nothing'>
  | { exclusiveNamespaces: readonly string[]; shared: readonly string[] };

/** Returns the statement that acquires the locks, always in the same order to avoid deadlocks. */
export function createLockStatement(hold: Hold): string {
  if (hold === 'model') return `SELECT pg_advisory_xact_lock(${MODEL_LOCK})`;
  if (hold === 'keys') return `SELECT pg_advisory_xact_lock(${KEYS_LOCK})`;
  const exclusive = new Set('exclusive' in hold ? [hold.exclusive] : hold.exclusiveNamespaces);
  const namespaces = new Set([...exclusive, ...('shared' in hold ? hold.shared : [])]);
  const locks = [...namespaces].sort().map((namespace) => {
    const suffix = exclusive.has(namespace) ? '' : '_shared';
    return `pg_advisory_xact_lock${suffix}(${toLockKey(`namespace\0${namespace}`)})`;
  });
  return `SELECT ${[...locks, `pg_advisory_xact_lock_shared(${MODEL_LOCK})`].join(', ')}`;
}
