import { isOpen, type ListWords, type MemoryFilter } from '@memoryd/search';
import type { PageRequest, Position } from '../ports/storage-memories.ts';
import { liveAndPassing } from './filters.ts';
import type { MemoryRow } from './memory-row.ts';
import { fromMemoryByWords, hasWords } from './memory-words.ts';
import { count, type Queries } from './queries.ts';
import { getOrderColumns, getOrderKeys, isAfter, type Reading, readPage, toOrder } from './read-page.ts';
import { join, raw, type Sql, sql } from './sql.ts';

/** A filter with words of the present texts. */
type WordFilter = MemoryFilter & { words: ListWords };

/**
 * Memories that match the other conditions of a filter, up to which the words of each are read. For more, the index of
 * the words is read first.
 */
const FEW_MEMORIES = 5000;

/** Share of the counted memories from which a page of frequent words is looked for in the first memories of the order. */
const FREQUENT = 0.2;
/** Memories that are read for such a page, as a share of the counted ones, besides twice the page and what lies before it. */
const READ_IN_ORDER = 0.4;

/** How a page of memories is read, of which at most `maxCounted` are counted. */
export interface CountedReading extends Reading {
  maxCounted: number;
}

/** Memories that match a filter with words. */
export interface Found {
  /** Their number, at most one more than are counted. */
  total: number;
  /** Condition on `memory m`. */
  passing: Sql;
}

/** Finds the memories that match a filter with words: by the words, or by the other conditions if they match few. */
export async function findByWords(
  queries: Queries,
  namespace: string,
  filter: WordFilter,
  now: number,
  maxCounted: number,
): Promise<Found> {
  const { dialect } = queries;
  const { words, ...others } = filter;
  const passing = liveAndPassing(dialect, namespace, others, now);
  if (await isFew(queries, others, passing)) {
    const having = sql`${passing} AND ${hasWords(dialect, namespace, words)}`;
    return { total: await count(queries, sql`memory m WHERE ${having}`), passing: having };
  }
  const total = await count(
    queries,
    sql`(SELECT 1 FROM ${fromMemoryByWords(dialect, namespace, words)} WHERE ${passing}
      LIMIT ${maxCounted + 1}) AS found`,
  );
  return { total, passing: liveAndPassing(dialect, namespace, filter, now) };
}

async function isFew(queries: Queries, filter: MemoryFilter, passing: Sql): Promise<boolean> {
  if (isOpen(filter)) return false;
  const matching = sql`(SELECT 1 FROM memory m WHERE ${passing} LIMIT ${FEW_MEMORIES + 1}) AS matching`;
  return (await count(queries, matching)) <= FEW_MEMORIES;
}

/**
 * Reads a page of the memories that match a filter with words, in an order of the database. Looks for frequent words in
 * the first memories of the order, and orders all memories with the words if the page lies beyond these.
 */
export async function readByWords(
  queries: Queries,
  namespace: string,
  { filter, found }: { filter: WordFilter; found: Found },
  page: PageRequest<Position>,
  reading: CountedReading,
): Promise<MemoryRow[]> {
  const isFrequent = found.total > FREQUENT * reading.maxCounted;
  const inOrder = isFrequent ? await readFirst(queries, namespace, filter, page, reading) : undefined;
  return inOrder ?? readPage(queries, found.passing, page, reading);
}

/** Returns undefined if the page lies beyond the first memories. */
async function readFirst(
  queries: Queries,
  namespace: string,
  { words, ...others }: WordFilter,
  page: PageRequest<Position>,
  reading: CountedReading,
): Promise<MemoryRow[] | undefined> {
  const { dialect } = queries;
  const {
    of,
    moment,
    order: { by, direction, offset },
    maxCounted,
  } = reading;
  const passing = liveAndPassing(dialect, namespace, others, moment.now);
  const names = getOrderColumns(by);
  const orderKeys = getOrderKeys(dialect, { by, of });
  const named = orderKeys.map((key, i) => sql`${key} AS ${raw(names[i] as string)}`);
  const last = await queries.row<Record<string, number>>(sql`
    SELECT ${join(named, ', ')} FROM memory m WHERE ${passing} ${isAfter(dialect, page.after, { of, direction })}
    ORDER BY ${toOrder(orderKeys, direction)}
    LIMIT 1 OFFSET ${READ_IN_ORDER * maxCounted + 2 * (offset + page.limit)}`);
  const isFirst = last
    ? sql`AND (${join(orderKeys, ', ')}) ${raw(direction === 'asc' ? '<=' : '>=')} (${join(
        names.map((name) => sql`CAST(${last[name]} AS ${raw(name === 'importance' ? 'double precision' : 'bigint')})`),
        ', ',
      )})`
    : raw('');
  const rows = await readPage(
    queries,
    sql`${passing} AND ${hasWords(dialect, namespace, words)} ${isFirst}`,
    page,
    reading,
  );
  return last && rows.length <= page.limit ? undefined : rows;
}
