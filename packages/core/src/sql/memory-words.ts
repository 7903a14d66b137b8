import { hash } from 'node:crypto';
import { getListWords, type ListWords, type OwnerFilter } from '@memoryd/search';
import { isOne } from './filter-condition.ts';
import type { Dialect, Queries } from './queries.ts';
import { raw, type Sql, sql } from './sql.ts';

const COLUMNS = { namespace: 'text', ordinal: 'bigint', words: 'tsvector' } as const;

/** Hexadecimal digits of the digest of a namespace before each of its words. */
const KEY_DIGITS = 4;

/**
 * Memories of some users from which a list by words looks at the index of the words. For fewer, reading the words of
 * each memory takes less time than finding a frequent word in the namespace.
 */
const MANY_MEMORIES = 2000;

/**
 * Returns the prefix of the words of a namespace in the shared index, so that a search reads no words of most other
 * namespaces. Two namespaces can have the same prefix, so queries also compare the namespace.
 */
function getKey(namespace: string): string {
  return hash('sha256', namespace).slice(0, KEY_DIGITS);
}

export interface MemoryText {
  namespace: string;
  ordinal: number;
  content: string;
}

/** Stores the words of new memories, which lists find. */
export async function insertWords(queries: Queries, memories: readonly MemoryText[]): Promise<void> {
  await queries.insert('memory_words', COLUMNS, memories.map(toWords));
}

/** Replaces the words of memories of a namespace after a change of their texts, or of the analysis of texts. */
export async function replaceWords(
  queries: Queries,
  namespace: string,
  memories: readonly Omit<MemoryText, 'namespace'>[],
): Promise<void> {
  const ordinals = memories.map(({ ordinal }) => ordinal);
  await queries.run(sql`DELETE FROM memory_words WHERE ${queries.dialect.isMemory('ordinal', namespace, ordinals)}`);
  await insertWords(
    queries,
    memories.map(({ ordinal, content }) => ({ namespace, ordinal, content })),
  );
}

/** Returns the row of `memory_words` of a memory. */
export function toWords({ namespace, ordinal, content }: MemoryText): Record<keyof typeof COLUMNS, unknown> {
  const key = getKey(namespace);
  // The text of a `tsvector`. No word has a quote, which the analysis of texts removes.
  const words = getListWords(content).map((word) => `'${key}${word}'`);
  return { namespace, ordinal, words: words.join(' ') };
}

function getKeyed(namespace: string, { whole, beginnings }: ListWords): ListWords {
  const key = getKey(namespace);
  return { whole: whole.map((word) => key + word), beginnings: beginnings.map((word) => key + word) };
}

/**
 * Returns a condition on `memory m` of a namespace: its text has all of these words.
 *
 * @param suffix of the subquery for the words of a memory
 */
export function hasWords(dialect: Dialect, namespace: string, words: ListWords, suffix = raw('')): Sql {
  return sql`EXISTS (
    SELECT 1 FROM memory_words w WHERE ${dialect.unindexed(raw('w.namespace'))} = ${namespace} AND w.ordinal = m.ordinal
      AND ${dialect.hasWords(getKeyed(namespace, words))} ${suffix})`;
}

/**
 * Returns the memories with all of these words, for FROM, as `memory m`. They are read one after the other, so that LIMIT
 * ends the search.
 */
export function fromMemoryByWords(dialect: Dialect, namespace: string, words: ListWords): Sql {
  const memory = dialect.joinMemory('m', { namespace: sql`${namespace}`, ordinal: raw('i.ordinal') });
  return sql`(${dialect.selectByWords(getKeyed(namespace, words))}) AS i ${memory}`;
}

/** Returns a query for the ordinals of memories of a namespace with all of these words; of other users too. */
export function selectByWords(dialect: Dialect, namespace: string, words: ListWords, { userIds }: OwnerFilter): Sql {
  const keyed = getKeyed(namespace, words);
  const indexed = dialect.selectByWords(keyed);
  if (!userIds) return indexed;
  const ofUsers = (table: string) => isOne(dialect, raw(`${table}.user_id`), userIds);
  const count = sql`(SELECT coalesce(sum(u.memories), 0) FROM usage u WHERE u.namespace = ${namespace} AND ${ofUsers('u')})`;
  const isUser = userIds.includes('') ? raw('') : raw(`AND o.user_id <> ''`);
  // SQLite joins in this order, so that it runs only one of the queries.
  return sql`
    SELECT i.ordinal FROM (SELECT 1 AS one WHERE ${count} > ${MANY_MEMORIES}) AS many CROSS JOIN (${indexed}) AS i
    UNION ALL
    SELECT o.ordinal FROM (SELECT 1 AS one WHERE ${count} <= ${MANY_MEMORIES}) AS few CROSS JOIN memory o
    CROSS JOIN memory_words w
    WHERE o.namespace = ${namespace} AND ${ofUsers('o')} ${isUser}
      AND ${dialect.unindexed(raw('w.namespace'))} = ${namespace} AND w.ordinal = o.ordinal AND ${dialect.hasWords(keyed)}`;
}
