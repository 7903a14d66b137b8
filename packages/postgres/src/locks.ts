import { hash } from 'node:crypto';
import type { Held } from '@memoryd/engine/storage-kit';

/*
 * Advisory locks of PostgreSQL, held until a transaction ends. They are numbers of 64 bits, over one whole database:
 * digests of what they stand for, so that two of them are the same by no more than chance, and then only wait for each
 * other.
 */
function lockKey(name: string): bigint {
  return BigInt.asIntN(64, hash('sha256', `memoryd\0${name}`, 'buffer').readBigUInt64BE());
}

/** Held by whoever takes the database to another schema. */
export const SCHEMA_LOCK = lockKey('schema');

/** Held by whoever makes the index of a model's vectors. */
export const VECTOR_INDEX_LOCK = lockKey('vector index');

/** Held in common by all that writes memories, and alone by what changes the schema or which model is in use. */
const MODEL_LOCK = lockKey('model');

/** Held by what makes an API key, since there may be only so many, or changes the schema. */
const KEYS_LOCK = lockKey('keys');

/** The statement that waits until nobody writes, and lets nobody write until its transaction ends. */
export const KEEP_WRITERS_OUT = `SELECT pg_advisory_xact_lock(${MODEL_LOCK}), pg_advisory_xact_lock(${KEYS_LOCK})`;

/**
 * What a transaction has for itself. `exclusive`: a namespace that nobody else writes meanwhile. `shared`: namespaces
 * that others may add memories to meanwhile, but in which nobody changes any. `model`: which model is in use; alone.
 * `keys`: the API keys.
 */
export type Hold = Exclude<Held, 'nothing'> | { exclusiveNamespaces: readonly string[]; shared: readonly string[] };

/** The statement that takes the locks of a hold, in an order that is the same for all. */
export function takeLocks(hold: Hold): string {
  if (hold === 'model') return `SELECT pg_advisory_xact_lock(${MODEL_LOCK})`;
  if (hold === 'keys') return `SELECT pg_advisory_xact_lock(${KEYS_LOCK})`;
  const exclusive = new Set('exclusive' in hold ? [hold.exclusive] : hold.exclusiveNamespaces);
  const namespaces = new Set([...exclusive, ...('shared' in hold ? hold.shared : [])]);
  const locks = [...namespaces].sort().map((namespace) => {
    const suffix = exclusive.has(namespace) ? '' : '_shared';
    return `pg_advisory_xact_lock${suffix}(${lockKey(`namespace\0${namespace}`)})`;
  });
  return `SELECT ${[...locks, `pg_advisory_xact_lock_shared(${MODEL_LOCK})`].join(', ')}`;
}
