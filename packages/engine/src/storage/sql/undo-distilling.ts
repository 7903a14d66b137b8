import type { Recorded } from '../run-change.ts';
import { type FoundMemory, findByOrdinal } from './find-memory.ts';
import { erase } from './forget.ts';
import {
  decline,
  describe,
  distilAgain,
  distilledFrom,
  readSources,
  setDistilledText,
  setSources,
  sourcesOf,
} from './semantic-sources.ts';
import { sql } from './sql.ts';
import type { Transaction } from './transaction.ts';

/** Removes a semantic memory that a run has made. Its group is not distilled again before it changes. */
export async function undistil(
  transaction: Transaction,
  { namespace, ordinal, detail }: Recorded<'distilled'>,
): Promise<void> {
  const target = await findByOrdinal(transaction, namespace, ordinal);
  if (target?.version !== detail.version) return;
  await decline(transaction, namespace, ordinal);
  await erase(transaction, namespace, [target]);
}

/** Gives a semantic memory the sources that it had, those that have been forgotten left out, and its text from then. */
export async function unrefresh(
  transaction: Transaction,
  { namespace, ordinal, detail }: Recorded<'refreshed'>,
): Promise<void> {
  const target = await findByOrdinal(transaction, namespace, ordinal);
  if (target?.version !== detail.version) return;
  const sources: number[] = [];
  for (const source of detail.sources) {
    if (await canBeSource(transaction, namespace, source, ordinal)) sources.push(source);
  }
  if (sources.length === 0) return;
  await decline(transaction, namespace, ordinal);
  await setSources(transaction, namespace, ordinal, sources);
  await describe(transaction, target, await readSources(transaction, namespace, sources));
  if (target.revision !== detail.revision) await restoreText(transaction, target, detail.revision);
}

// Also where it is merged: a merge by the same run is taken back next, and by a later one hides no text.
async function canBeSource(
  transaction: Transaction,
  namespace: string,
  source: number,
  semantic: number,
): Promise<boolean> {
  const { tier } = (await findByOrdinal(transaction, namespace, source)) ?? {};
  if (tier !== 'episodic') return false;
  return [undefined, semantic].includes(await distilledFrom(transaction, namespace, source));
}

// Where a source has been forgotten since, no earlier text is left.
async function restoreText(transaction: Transaction, target: FoundMemory, revision: number): Promise<void> {
  const { namespace, ordinal } = target;
  const earlier = await transaction.row<{ content: string }>(sql`
    DELETE FROM memory_history WHERE namespace = ${namespace} AND ordinal = ${ordinal} AND revision = ${revision}
    RETURNING content`);
  if (earlier) await setDistilledText(transaction, target, earlier.content);
  else await distilAgain(transaction, target, await sourcesOf(transaction, namespace, ordinal));
}

/** Lets a memory no longer rank below another that a run took for its correction. */
export async function uncorrect(
  transaction: Transaction,
  { namespace, ordinal, detail }: Recorded<'corrected'>,
): Promise<void> {
  const wrong = await findByOrdinal(transaction, namespace, ordinal);
  const right = await findByOrdinal(transaction, namespace, detail.by);
  if (!wrong || right?.supersedes !== wrong.id) return;
  await transaction.run(
    sql`UPDATE memory SET supersedes = NULL WHERE namespace = ${namespace} AND ordinal = ${right.ordinal}`,
  );
  await transaction.run(sql`
    UPDATE memory SET superseded_by = NULL
    WHERE namespace = ${namespace} AND ordinal = ${ordinal} AND superseded_by = ${right.id}`);
}
