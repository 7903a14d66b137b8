import type { OwnerFilter } from '@memoryd/search';
import type { ListOrder, PageRequest, Position } from '../ports/storage-memories.ts';
import type { Moment } from '../validity.ts';
import { ATTACHMENT, BEFORE_THE_LAST, memoryColumns, unlessOfUsers, WITH_ACCESS } from './filters.ts';
import { fromMemory } from './known.ts';
import type { MemoryRow } from './memory-row.ts';
import type { Dialect, Queries } from './queries.ts';
import { join, raw, type Sql, sql } from './sql.ts';
import { getSupersededBy } from './validity.ts';

/** How a page of memories is read. `superseded_by` is that of the moment. */
export interface Reading {
  of: OwnerFilter;
  moment: Moment;
  order: ListOrder;
  attachments?: boolean;
}

/** The columns by which SQL orders memories, before (createdAt, ordinal). */
const ORDER_COLUMNS = { created: [], changed: ['updated_at'], importance: ['importance'] } as const;

/**
 * Reads the memories that meet a condition on `memory m`, in order, after a position. Reads at most one row more than the
 * page limit, and only as much text as the page can hold, because the texts of ten thousand memories could exhaust the
 * memory of the process.
 */
export function readPage(
  queries: Queries,
  condition: Sql,
  { limit, maxBytes, after }: PageRequest<Position>,
  { of, moment, order: { by, direction, offset }, attachments = false }: Reading,
): Promise<MemoryRow[]> {
  const { dialect } = queries;
  const columns = getOrderColumns(by);
  const selected = [...columns, 'namespace'].map((name) => raw(`m.${name}`));
  const inOrder = toOrder(getOrderKeys(dialect, { by, of }), direction);
  const page = sql`
    SELECT ${join(selected, ', ')}, ${textSize(attachments)} AS bytes
    FROM ${fromMemory(dialect, moment)} WHERE ${condition} ${isAfter(dialect, after, { of, direction })}
    ORDER BY ${inOrder} LIMIT ${limit + 1} OFFSET ${offset}`;
  return readSized(queries, page, toOrder(columns.map(raw), direction), maxBytes, moment, attachments);
}

/** Returns the columns by which SQL orders memories. */
export function getOrderColumns(by: ListOrder['by']): string[] {
  return [...ORDER_COLUMNS[by as keyof typeof ORDER_COLUMNS], 'created_at', 'ordinal'];
}

/** Returns expressions for the columns of `memory m` by which SQL orders the memories of some owners. */
export function getOrderKeys(dialect: Dialect, { by, of }: { by: ListOrder['by']; of: OwnerFilter }): Sql[] {
  return getOrderColumns(by).map((name) => (name === 'ordinal' ? raw('m.ordinal') : unlessOfUsers(dialect, of, name)));
}

/** Returns the terms of ORDER BY. */
export function toOrder(keys: readonly Sql[], direction: ListOrder['direction']): Sql {
  const terms = keys.map((key) => sql`${key} ${raw(direction === 'asc' ? 'ASC' : 'DESC')}`);
  return join(terms, ', ');
}

/** Returns a condition on `memory m`, to append to others: it comes after a position. Empty without a position. */
export function isAfter(
  dialect: Dialect,
  after: Position | undefined,
  { of, direction }: { of: OwnerFilter; direction: ListOrder['direction'] },
): Sql {
  if (!after) return raw('');
  const createdAt = unlessOfUsers(dialect, of, 'created_at');
  return sql`AND (${createdAt}, m.ordinal) ${raw(direction === 'asc' ? '>' : '<')} (CAST(${after.createdAt} AS bigint), CAST(${after.ordinal} AS bigint))`;
}

/** Reads memories by their ordinals, in this order. See `readPage`. */
export function readOrdinals(
  queries: Queries,
  namespace: string,
  ordinals: readonly number[],
  maxBytes: number,
  moment: Moment,
): Promise<MemoryRow[]> {
  const { dialect } = queries;
  const page = sql`
    SELECT m.namespace, m.ordinal, p.place, ${textSize()} AS bytes
    FROM ${dialect.ordinals('p', ordinals)} CROSS JOIN ${fromMemory(dialect, moment)}
    WHERE m.namespace = ${namespace} AND m.ordinal = p.ordinal`;
  return readSized(queries, page, raw('place'), maxBytes, moment);
}

/** Returns an expression: the bytes of the texts of `memory m`. */
export function textSize(attachments = false): Sql {
  return raw(`octet_length(m.content)${attachments ? ' + m.attachment_bytes' : ''}`);
}

/**
 * Reads the memories of a page up to a size.
 *
 * @param page a query for the namespace, the ordinal and the bytes of texts of memories, and the columns of `inOrder`
 * @param inOrder the order of the memories, by columns of `page`
 */
function readSized(
  { dialect, rows }: Queries,
  page: Sql,
  inOrder: Sql,
  maxBytes: number,
  moment: Moment,
  attachments = false,
): Promise<MemoryRow[]> {
  return rows<MemoryRow>(sql`
    WITH page AS MATERIALIZED (${page}),
      sized AS (
        SELECT namespace, ordinal, row_number() OVER (ORDER BY ${inOrder}) AS place,
          sum(bytes) OVER (ORDER BY ${inOrder} ${BEFORE_THE_LAST}) AS before FROM page)
    SELECT ${memoryColumns(dialect, getSupersededBy(dialect, moment), moment)}${attachments ? sql`, ${ATTACHMENT}` : raw('')}
    FROM sized CROSS JOIN ${fromMemory(dialect, moment)} ${WITH_ACCESS}
    WHERE m.namespace = sized.namespace AND m.ordinal = sized.ordinal AND coalesce(sized.before, 0) <= ${maxBytes}
    ORDER BY sized.place`);
}
