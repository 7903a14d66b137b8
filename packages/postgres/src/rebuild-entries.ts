import { ENTRIES_MADE_BY, getProperty, replaceWords, setProperty, sql } from '@memoryd/core';
import type { Connection } from './connection.ts';
import { deletePostings, insertEntries, MADE_BY, readRecallTexts } from './recall-entry.ts';

/** Maximum index entries rebuilt in one transaction. */
const REBUILD_BATCH = 256;

/** Maximum index entries scanned by one statement. */
const SCAN_BATCH = 10_000;

/**
 * Rebuilds index entries, and the words that lists find, that were built by an earlier version of the rules. Vectors
 * stay unchanged. Servers that know only the earlier version can write until the rebuild is complete. Several processes
 * can rebuild concurrently.
 */
export async function rebuildEntries(connection: Connection): Promise<void> {
  await rebuildOutdated(connection);
  if (Number((await getProperty(connection, ENTRIES_MADE_BY)) ?? 0) >= MADE_BY) return;
  await connection.write('model', (transaction) => setProperty(transaction, ENTRIES_MADE_BY, String(MADE_BY)));
  // Rebuild the index entries that other servers have written by the earlier rules in the meantime.
  await rebuildOutdated(connection);
}

async function rebuildOutdated(connection: Connection): Promise<void> {
  let last: Entry | undefined;
  do {
    const found = await scanEntries(connection, last);
    last = found.find(({ isLast }) => isLast);
    const outdated = found.filter(({ isOutdated }) => isOutdated);
    for (let from = 0; from < outdated.length; from += REBUILD_BATCH) {
      await rebuildBatch(connection, outdated.slice(from, from + REBUILD_BATCH));
    }
  } while (last);
}

interface Entry {
  namespace: string;
  ordinal: number;
  isOutdated: boolean;
  isLast: boolean;
}

/**
 * Returns the outdated index entries of the next batch, and the last index entry of the batch. Scanning all index
 * entries in one statement could exceed the statement timeout.
 */
function scanEntries(connection: Connection, { namespace, ordinal } = { namespace: '', ordinal: 0 }): Promise<Entry[]> {
  return connection.rows<Entry>(sql`
    WITH scanned AS MATERIALIZED (
      SELECT namespace, ordinal, made_by < ${MADE_BY} AS "isOutdated" FROM recall_entry
      WHERE (namespace, ordinal) > (${namespace}, ${ordinal}::bigint)
      ORDER BY namespace, ordinal LIMIT ${SCAN_BATCH})
    SELECT * FROM (
      SELECT *, lead(ordinal) OVER (ORDER BY namespace, ordinal) IS NULL AS "isLast" FROM scanned) AS placed
    WHERE "isOutdated" OR "isLast" ORDER BY namespace, ordinal`);
}

async function rebuildBatch(connection: Connection, entries: readonly Entry[]): Promise<void> {
  for (const namespace of new Set(entries.map((entry) => entry.namespace))) {
    const ordinals = entries.filter((entry) => entry.namespace === namespace).map(({ ordinal }) => ordinal);
    await rebuild(connection, namespace, ordinals);
  }
}

async function rebuild(connection: Connection, namespace: string, ordinals: number[]): Promise<void> {
  await connection.write({ exclusive: namespace }, async (transaction) => {
    const these = sql`namespace = ${namespace} AND ordinal = ANY(${ordinals}::bigint[])`;
    const models = await transaction.rows<{ ordinal: number; model: number }>(sql`
      WITH entry AS (DELETE FROM recall_entry WHERE ${these} AND made_by < ${MADE_BY} RETURNING ordinal, terms, model),
        words AS (${deletePostings(namespace, sql`SELECT ordinal, unnest(terms) FROM entry`)})
      SELECT ordinal, model FROM entry`);
    if (models.length === 0) return;
    const rebuilt = models.map(({ ordinal }) => ordinal);
    const texts = await readRecallTexts(transaction, namespace, rebuilt);
    await insertEntries(transaction, texts);
    await replaceWords(transaction, namespace, texts);
    await transaction.run(sql`
      UPDATE recall_entry e SET model = had.model
      FROM unnest(${rebuilt}::bigint[], ${models.map(({ model }) => model)}::integer[]) AS had(ordinal, model)
      WHERE e.namespace = ${namespace} AND e.ordinal = had.ordinal`);
  });
}
