import { ENTRIES_MADE_BY, getProperty, setProperty, sql } from '@memoryd/engine/storage-kit';
import type { Connection } from './connection.ts';
import { keepEntries, MADE_BY, readRecallTexts } from './recall-entry.ts';

/** Memories whose entries are made anew in one transaction. */
const MADE_AT_ONCE = 256;

/** Entries that one statement looks at. */
const LOOKED_AT_ONCE = 10_000;

/**
 * Makes entries anew that earlier rules made; vectors stay. Servers that know only earlier rules write until it is done, and
 * no longer. Several processes may do it at once.
 */
export async function renewEntries(connection: Connection): Promise<void> {
  await renewOld(connection);
  if (Number((await getProperty(connection, ENTRIES_MADE_BY)) ?? 0) >= MADE_BY) return;
  await connection.write('model', (transaction) => setProperty(transaction, ENTRIES_MADE_BY, String(MADE_BY)));
  // What others have written meanwhile.
  await renewOld(connection);
}

/** Makes entries anew that earlier rules made, a part at a time. */
async function renewOld(connection: Connection): Promise<void> {
  let last: Entry | undefined;
  do {
    const found = await nextOld(connection, last);
    last = found.find(({ isLast }) => isLast);
    const old = found.filter(({ isOld }) => isOld);
    for (let from = 0; from < old.length; from += MADE_AT_ONCE) {
      await renewAll(connection, old.slice(from, from + MADE_AT_ONCE));
    }
  } while (last);
}

interface Entry {
  namespace: string;
  ordinal: number;
  isOld: boolean;
  isLast: boolean;
}

/**
 * The old among the next entries, and the last of these. All that there are may take longer to go through than a statement
 * may run.
 */
function nextOld(connection: Connection, { namespace, ordinal } = { namespace: '', ordinal: 0 }): Promise<Entry[]> {
  return connection.rows<Entry>(sql`
    WITH looked_at AS MATERIALIZED (
      SELECT namespace, ordinal, made_by < ${MADE_BY} AS "isOld" FROM recall_entry
      WHERE (namespace, ordinal) > (${namespace}, ${ordinal}::bigint)
      ORDER BY namespace, ordinal LIMIT ${LOOKED_AT_ONCE})
    SELECT * FROM (
      SELECT *, lead(ordinal) OVER (ORDER BY namespace, ordinal) IS NULL AS "isLast" FROM looked_at) AS placed
    WHERE "isOld" OR "isLast" ORDER BY namespace, ordinal`);
}

async function renewAll(connection: Connection, entries: readonly Entry[]): Promise<void> {
  for (const namespace of new Set(entries.map((entry) => entry.namespace))) {
    const ordinals = entries.filter((entry) => entry.namespace === namespace).map(({ ordinal }) => ordinal);
    await renew(connection, namespace, ordinals);
  }
}

async function renew(connection: Connection, namespace: string, ordinals: number[]): Promise<void> {
  await connection.write({ exclusive: namespace }, async (transaction) => {
    const these = sql`namespace = ${namespace} AND ordinal = ANY(${ordinals}::bigint[])`;
    const models = await transaction.rows<{ ordinal: number; model: number }>(sql`
      WITH entry AS (DELETE FROM recall_entry WHERE ${these} AND made_by < ${MADE_BY} RETURNING ordinal, terms, model),
        words AS (
          DELETE FROM posting p USING (SELECT ordinal, unnest(terms) AS term FROM entry) w
          WHERE p.namespace = ${namespace} AND p.term = w.term AND p.ordinal = w.ordinal)
      SELECT ordinal, model FROM entry`);
    if (models.length === 0) return;
    const renewed = models.map(({ ordinal }) => ordinal);
    await keepEntries(transaction, await readRecallTexts(transaction, namespace, renewed));
    await transaction.run(sql`
      UPDATE recall_entry e SET model = had.model
      FROM unnest(${renewed}::bigint[], ${models.map(({ model }) => model)}::integer[]) AS had(ordinal, model)
      WHERE e.namespace = ${namespace} AND e.ordinal = had.ordinal`);
  });
}
