import type { Connection } from './connection.ts';
import { keepEntries, MADE_BY, readRecallTexts } from './recall-entry.ts';
import { sql } from './sql.ts';

/** Memories whose entries are made anew in one transaction. */
const MADE_AT_ONCE = 256;

/** Makes entries anew that other rules made, a part at a time; vectors stay. Several processes may do it at once. */
export async function renewEntries(connection: Connection): Promise<void> {
  let after = { namespace: '', ordinal: 0 };
  for (;;) {
    const old = await connection.rows<{ namespace: string; ordinal: number }>(sql`
      SELECT namespace, ordinal FROM recall_entry
      WHERE (namespace, ordinal) > (${after.namespace}, ${after.ordinal}::bigint) AND made_by <> ${MADE_BY}
      ORDER BY namespace, ordinal LIMIT ${MADE_AT_ONCE}`);
    const last = old.at(-1);
    if (!last) return;
    for (const namespace of new Set(old.map((entry) => entry.namespace))) {
      const ordinals = old.filter((entry) => entry.namespace === namespace).map(({ ordinal }) => ordinal);
      await renew(connection, namespace, ordinals);
    }
    after = last;
  }
}

async function renew(connection: Connection, namespace: string, ordinals: number[]): Promise<void> {
  await connection.write({ exclusive: namespace }, async (transaction) => {
    const these = sql`namespace = ${namespace} AND ordinal = ANY(${ordinals}::bigint[])`;
    const models = await transaction.rows<{ ordinal: number; model: number }>(sql`
      WITH entry AS (DELETE FROM recall_entry WHERE ${these} AND made_by <> ${MADE_BY} RETURNING ordinal, terms, model),
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
