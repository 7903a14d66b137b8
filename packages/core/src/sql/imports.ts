import { hash } from 'node:crypto';
import type { OwnerFilter } from '@memoryd/search';
import {
  type BegunImport,
  type ImportRun,
  importUndone,
  type NewImport,
  type TextName,
} from '../ports/storage-imports.ts';
import type { NewMemory, Page, PageRequest, StoreOutcome } from '../ports/storage-memories.ts';
import { dropEmptyImports } from './empty-imports.ts';
import { isOfOwners } from './filters.ts';
import { takePage } from './memory-row.ts';
import { getExternalKey } from './memory-rows.ts';
import { count, type Queries, type Transaction } from './queries.ts';
import type { Rooms } from './quotas.ts';
import { repeatStore } from './repeat-store.ts';
import { raw, type Sql, sql } from './sql.ts';

/** See `Storage.beginImport`. The transaction must hold the lock of the namespace. */
export async function beginImport(transaction: Queries, namespace: string, begin: NewImport): Promise<BegunImport> {
  const digest = getContentDigest(begin);
  const known = await transaction.row<{ no: number; id: string; undoing: number }>(sql`
    SELECT no, id, undoing FROM import_run WHERE namespace = ${namespace} AND content_digest = ${digest}`);
  if (known?.undoing) return { outcome: 'undoing', id: known.id };
  if (known) {
    await transaction.run(
      sql`UPDATE import_run SET ended_at = NULL WHERE namespace = ${namespace} AND no = ${known.no}`,
    );
    return { outcome: 'begun', id: known.id };
  }
  const { id, userId, agentId, format, name = null, startedAt } = begin;
  await dropEmptyImports(transaction, namespace, begin);
  await transaction.run(sql`
    INSERT INTO import_run (namespace, id, user_id, agent_id, format, name, content_digest, started_at)
    VALUES (${namespace}, ${id}, ${userId}, ${agentId}, ${format}, ${name}, ${digest}, ${startedAt})`);
  return { outcome: 'begun', id };
}

/** Returns the digest by which an import is continued. Owners and keys never contain U+0000. */
function getContentDigest({ userId, agentId, format, contentKey }: NewImport): string | null {
  return contentKey === undefined ? null : hash('sha256', `${userId}\0${agentId}\0${format}\0${contentKey}`);
}

/** See `Storage.endImport`. */
export async function endImport(queries: Queries, namespace: string, id: string, endedAt: number): Promise<void> {
  await queries.run(
    sql`UPDATE import_run SET ended_at = ${endedAt} WHERE namespace = ${namespace} AND id = ${id} AND undoing = 0`,
  );
}

const RUN = raw(`SELECT m.no, m.id, m.user_id AS "userId", m.agent_id AS "agentId", m.format, m.name,
  m.started_at AS "startedAt", m.ended_at AS "endedAt", m.imported_count AS "importedCount",
  (SELECT count(*) FROM imported_memory i WHERE i.namespace = m.namespace AND i.run = m.no) AS "memoryCount"
  FROM import_run m`);

/** See `Storage.importRun`. */
export function importRun(
  queries: Queries,
  namespace: string,
  id: string,
  of: OwnerFilter,
): Promise<ImportRun | undefined> {
  return queries.row<ImportRun>(sql`${RUN} WHERE ${isRun(queries, namespace, id, of)}`);
}

/** Returns the number of the import that `importRun` would return, without counting its memories. */
export async function findImportNumber(
  queries: Queries,
  namespace: string,
  id: string,
  of: OwnerFilter,
): Promise<number | undefined> {
  const run = await queries.row<{ no: number }>(
    sql`SELECT m.no FROM import_run m WHERE ${isRun(queries, namespace, id, of)}`,
  );
  return run?.no;
}

function isRun({ dialect }: Queries, namespace: string, id: string, of: OwnerFilter): Sql {
  return sql`m.namespace = ${namespace} AND m.id = ${id} AND ${isOfOwners(dialect, of)}`;
}

/** See `Storage.imports`. Must run in a snapshot. */
export async function imports(
  queries: Queries,
  namespace: string,
  page: PageRequest<number>,
  of: OwnerFilter,
): Promise<Page<ImportRun, number>> {
  const isListed = sql`m.namespace = ${namespace} AND ${isOfOwners(queries.dialect, of)}`;
  const total = await count(queries, sql`import_run m WHERE ${isListed}`);
  const rows = await queries.rows<ImportRun>(sql`
    ${RUN} WHERE ${isListed} AND m.no < ${page.after ?? Number.MAX_SAFE_INTEGER}
    ORDER BY m.no DESC LIMIT ${page.limit + 1}`);
  return takePage(rows, page, total, {
    toItem: (row) => row,
    getBytes: (row) => Buffer.byteLength(JSON.stringify(row)),
    getPlace: ({ no }) => no,
  });
}

/** The import that a memory belongs to; null in all fields if it belongs to none. */
interface Belonging {
  digest: string | null;
  importedVersion: number | null;
  version: number;
}

/**
 * Returns true if a text must leave the memory with its external id as it is: no import stored the memory, someone has
 * changed it since, or the text is the same.
 */
function isLeftAsIs({ digest, importedVersion, version }: Belonging, text: string): boolean {
  return importedVersion === null || importedVersion !== version || digest === text;
}

const WITH_IMPORT = raw(`LEFT JOIN imported_memory i ON i.namespace = m.namespace AND i.ordinal = m.ordinal`);
const BELONGING = raw('m.version, i.digest, i.version AS "importedVersion"');

/** See `Storage.unchangedTexts`. */
export async function unchangedTexts(
  queries: Queries,
  namespace: string,
  texts: readonly TextName[],
): Promise<boolean[]> {
  const keys = texts.map((text) => [text.externalId, ...text.aliases].map((id) => getExternalKey(text, id)));
  const { records, joinMemory } = queries.dialect;
  const named = records(
    'named',
    { key: 'text' },
    [...new Set(keys.flat())].map((key) => ({ key })),
  );
  const key = { namespace: sql`${namespace}`, external_key: raw('named.key') };
  const rows = await queries.rows<Belonging & { key: string }>(sql`
    SELECT m.external_key AS key, ${BELONGING} FROM ${named} ${joinMemory('m', key, 'memory_by_external_key')} ${WITH_IMPORT}`);
  const found = new Map(rows.map((row) => [row.key, row]));
  return texts.map(({ digest }, i) => {
    const [own, ...aliases] = (keys[i] as string[]).map((key) => found.get(key));
    return own ? isLeftAsIs(own, digest) : aliases.some((alias) => alias?.importedVersion === null);
  });
}

type OfImport = Pick<NewMemory, 'namespace' | 'imported'>;

/** The numbers of the imports of a batch of stores. */
export class Imports {
  readonly #numbers: ReadonlyMap<string, number>;

  constructor(numbers: ReadonlyMap<string, number>) {
    this.#numbers = numbers;
  }

  refusal(memory: OfImport): StoreOutcome | undefined {
    return memory.imported && this.find(memory) === undefined ? { outcome: 'import-undone' } : undefined;
  }

  find({ namespace, imported }: OfImport): number | undefined {
    return imported && this.#numbers.get(`${namespace}\0${imported.importId}`);
  }
}

/** Finds the imports that the memories belong to, except those whose undo has begun. */
export async function findImports(queries: Queries, memories: readonly OfImport[]): Promise<Imports> {
  const named = new Map<string, { namespace: string; id: string }>();
  for (const { namespace, imported } of memories) {
    if (imported) named.set(`${namespace}\0${imported.importId}`, { namespace, id: imported.importId });
  }
  const numbers = new Map<string, number>();
  for (const [key, { namespace, id }] of named) {
    const run = await findRunning(queries, namespace, id);
    if (run) numbers.set(key, run.no);
  }
  return new Imports(numbers);
}

function findRunning(queries: Queries, namespace: string, id: string): Promise<{ no: number } | undefined> {
  return queries.row<{ no: number }>(
    sql`SELECT no FROM import_run WHERE namespace = ${namespace} AND id = ${id} AND undoing = 0`,
  );
}

/** Returns the number of an import. Throws CONFLICT if the import does not exist, or its undo has begun. */
export async function assertImporting(queries: Queries, namespace: string, id: string): Promise<number> {
  const run = await findRunning(queries, namespace, id);
  if (!run) throw importUndone();
  return run.no;
}

const COLUMNS = { namespace: 'text', ordinal: 'bigint', run: 'bigint', digest: 'text', version: 'integer' } as const;

/** A memory that an import has just created. */
interface Created {
  namespace: string;
  ordinal: number;
  run: number;
  digest: string;
  version: number;
}

/** Records the memories that imports have just created. */
export async function recordImported(queries: Queries, created: readonly Created[]): Promise<void> {
  if (created.length === 0) return;
  await queries.insert('imported_memory', COLUMNS, created);
  const counts = new Map<number, { namespace: string; count: number }>();
  for (const { namespace, run } of created) {
    counts.set(run, { namespace, count: (counts.get(run)?.count ?? 0) + 1 });
  }
  for (const [no, { namespace, count }] of counts) {
    await queries.run(sql`
      UPDATE import_run SET imported_count = imported_count + ${count} WHERE namespace = ${namespace} AND no = ${no}`);
  }
}

/**
 * Changes the memory with the external id of an imported text, unless it must stay as it is. The memory stays with its
 * import, and notes the import of the text. The transaction must hold the lock of the namespace.
 */
export async function repeatImported(
  transaction: Transaction,
  id: string,
  memory: NewMemory & Required<Pick<NewMemory, 'imported'>>,
  run: number,
  rooms: Rooms,
): Promise<StoreOutcome> {
  const { namespace, imported } = memory;
  const stored = (await transaction.row<Belonging & { ordinal: number }>(sql`
    SELECT m.ordinal, ${BELONGING} FROM memory m ${WITH_IMPORT}
    WHERE m.namespace = ${namespace} AND m.id = ${id}`)) as Belonging & { ordinal: number };
  if (isLeftAsIs(stored, imported.digest)) return { outcome: 'unchanged', id };
  const duplicates = await findUnchangedDuplicates(transaction, namespace, id);
  const outcome = await repeatStore(transaction, id, memory, rooms);
  if (outcome.outcome !== 'updated' && outcome.outcome !== 'unchanged') return outcome;
  const changedBy = outcome.outcome === 'updated' ? sql`NULLIF(${run}, run)` : raw('changed_by');
  await transaction.run(sql`
    UPDATE imported_memory SET digest = ${imported.digest}, changed_by = ${changedBy}
    WHERE namespace = ${namespace} AND ordinal = ${stored.ordinal}`);
  await transaction.run(sql`
    UPDATE imported_memory AS i
    SET version = (SELECT m.version FROM memory m WHERE m.namespace = i.namespace AND m.ordinal = i.ordinal)
    WHERE ${transaction.dialect.isMemory('ordinal', namespace, [stored.ordinal, ...duplicates])}`);
  return outcome;
}

/**
 * Returns the ordinals of imported duplicates that were merged into a memory, and that nobody has changed. A new period of
 * the memory changes them too.
 */
async function findUnchangedDuplicates(queries: Queries, namespace: string, id: string): Promise<number[]> {
  const rows = await queries.rows<{ ordinal: number }>(sql`
    SELECT m.ordinal FROM memory m ${WITH_IMPORT}
    WHERE m.namespace = ${namespace} AND m.merged_into = ${id} AND i.version = m.version`);
  return rows.map(({ ordinal }) => ordinal);
}
