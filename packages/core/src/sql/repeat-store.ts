import { isDeepStrictEqual } from 'node:util';
import type { Metadata } from '@memoryd/contract';
import type { ChangeDetails } from '../ports/storage-consolidation.ts';
import type { ChangedFields, NewMemory, StoreOutcome } from '../ports/storage-memories.ts';
import { fromJson } from './corruption.ts';
import { type FoundMemory, findMemory } from './find-memory.ts';
import type { Queries, Transaction } from './queries.ts';
import type { Rooms } from './quotas.ts';
import { raw, sql } from './sql.ts';
import { changeMemory } from './update-memory.ts';

/**
 * Changes the memory with the id `id` to the given fields of a store that repeats its external id. The transaction must
 * hold the lock of the namespace.
 */
export async function repeatStore(
  transaction: Transaction,
  id: string,
  memory: NewMemory,
  rooms: Rooms,
): Promise<StoreOutcome> {
  const { namespace, storedAt: at } = memory;
  const target = (await findMemory(transaction, namespace, id)) as FoundMemory;
  const fields = await getDifferences(transaction, target, memory);
  if (fields.length === 0) return { outcome: 'unchanged', id };
  const change = Object.fromEntries(fields.map((field) => [field, memory[field]]));
  const changed = await changeMemory(transaction, target, { ...change, at }, async () => rooms);
  return changed.outcome === 'updated' ? { ...changed, id } : changed;
}

/** Returns the given fields whose values differ from those of a stored memory. */
async function getDifferences(
  queries: Queries,
  target: FoundMemory,
  memory: NewMemory,
): Promise<(keyof ChangedFields)[]> {
  const { given = [] } = memory;
  const stored: { [Field in keyof ChangedFields]-?: unknown } = {
    ...target,
    tags: fromJson<string[]>(target.tags, 'the tags of memory', target.id),
    metadata: fromJson<Metadata>(target.metadata, 'the metadata of memory', target.id),
    attachment: given.includes('attachment') ? await readAttachment(queries, target) : undefined,
  };
  const differing = given.filter((field) => !isSame(memory[field], stored[field]));
  if (!differing.some((field) => field === 'tags' || field === 'importance')) return differing;
  const written = await readWritten(queries, target);
  return differing.filter(
    (field) => !written || !(field in written) || !isSame(memory[field], written[field as 'tags']),
  );
}

/** Returns true if two values have the same JSON, except for the order of fields. */
function isSame(one: unknown, other: unknown): boolean {
  return one === other || isDeepStrictEqual(toPlain(one), toPlain(other));
}

function toPlain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

async function readAttachment(queries: Queries, { namespace, ordinal }: FoundMemory): Promise<string | undefined> {
  const row = await queries.row<{ attachment: string }>(
    sql`SELECT attachment FROM memory_attachment WHERE namespace = ${namespace} AND ordinal = ${ordinal}`,
  );
  return row?.attachment;
}

/**
 * Returns the tags and the importance that a client wrote last, if a merge has added those of duplicates since. A repeat
 * with these values must not remove the additions.
 */
async function readWritten(
  queries: Queries,
  { namespace, ordinal, version }: FoundMemory,
): Promise<Pick<ChangeDetails['gained'], 'tags' | 'importance'> | undefined> {
  const first = await queries.row<{ detail: string }>(sql`
    SELECT detail FROM consolidation_change WHERE namespace = ${namespace} AND ordinal = ${ordinal} AND kind = 'gained'
      AND CAST(${queries.dialect.jsonField(raw('detail'), 'version')} AS integer) = ${version}
    ORDER BY run, seq LIMIT 1`);
  if (!first) return undefined;
  const { tags, importance } = fromJson<ChangeDetails['gained']>(first.detail, 'the changes of memory', ordinal);
  return { tags, importance };
}
