import type {
  DistilledMemory,
  RefreshedMemory,
  RunRef,
  SeenCorrection,
  SeenMemory,
} from '../../ports/storage-consolidation.ts';
import { waitBehindOthers } from './candidates.ts';
import { DISTILLABLE } from './filters.ts';
import { type FoundMemory, findByOrdinal, mayCorrect } from './find-memory.ts';
import { insertMemories } from './memory-rows.ts';
import type { Queries, Transaction } from './queries.ts';
import { assertRunning, recordChanges } from './runs.ts';
import {
  describe,
  getSemantic,
  getSources,
  isWritten,
  readSources,
  setDistilledText,
  setSources,
} from './semantic-sources.ts';
import { raw, type Sql, sql } from './sql.ts';
import { rememberText } from './text-history.ts';

/** Makes a semantic memory. See `Storage.distil`. */
export async function distil(
  transaction: Transaction,
  run: RunRef,
  distilled: DistilledMemory,
): Promise<number | undefined> {
  await assertRunning(transaction, run);
  const { namespace } = run;
  if (!(await areAsSeen(transaction, namespace, distilled.sources))) return undefined;
  if (await isSourceElsewhere(transaction, namespace, distilled.sources, undefined)) return undefined;
  const sources = getOrdinals(distilled.sources);
  const memory = getSemantic(namespace, distilled, await readSources(transaction, namespace, sources));
  const [ordinal] = (await insertMemories(transaction, [memory], 'semantic')) as [number];
  await waitBehindOthers(transaction, namespace, ordinal);
  await setSources(transaction, namespace, ordinal, sources);
  await dropSeen(transaction, namespace, distilled.sources);
  await recordChanges(transaction, run, [{ kind: 'distilled', ordinal, detail: { version: 1, sources } }]);
  return ordinal;
}

/** Gives a semantic memory another text and other sources. See `Storage.refresh`. */
export async function refresh(transaction: Transaction, run: RunRef, refreshed: RefreshedMemory): Promise<boolean> {
  await assertRunning(transaction, run);
  const { namespace } = run;
  const { semantic } = refreshed;
  const target = await findByOrdinal(transaction, namespace, semantic);
  if (!target || target.evictedAt !== null || isWritten(target)) return false;
  if (!(await areAsSeen(transaction, namespace, refreshed.sources))) return false;
  if (!(await haveOneOwner(transaction, namespace, [semantic, ...getOrdinals(refreshed.sources)]))) return false;
  if (await isSourceElsewhere(transaction, namespace, refreshed.sources, semantic)) return false;
  const earlier = await getSources(transaction, namespace, semantic);
  await setSources(transaction, namespace, semantic, getOrdinals(refreshed.sources));
  await describe(transaction, target, await getSources(transaction, namespace, semantic));
  if (refreshed.content !== target.content) {
    await rememberText(transaction, target, refreshed.at);
    await setDistilledText(transaction, target, refreshed.content);
  }
  await dropSeen(transaction, namespace, refreshed.sources);
  const detail = { version: target.version, revision: target.revision, sources: getOrdinals(earlier) };
  await recordChanges(transaction, run, [{ kind: 'refreshed', ordinal: semantic, detail }]);
  return true;
}

/** Lets a memory rank below another that corrects it. See `Storage.correct`. */
export async function correct(
  transaction: Transaction,
  run: RunRef,
  { corrected, by }: SeenCorrection,
): Promise<boolean> {
  await assertRunning(transaction, run);
  const { namespace } = run;
  if (!(await areAsSeen(transaction, namespace, [corrected, by]))) return false;
  const wrong = (await findByOrdinal(transaction, namespace, corrected.ordinal)) as FoundMemory;
  const right = (await findByOrdinal(transaction, namespace, by.ordinal)) as FoundMemory;
  if (!mayCorrect(right, wrong)) return false;
  await transaction.run(sql`
    UPDATE memory SET superseded_by = ${right.id} WHERE namespace = ${namespace} AND ordinal = ${wrong.ordinal}`);
  await transaction.run(sql`
    UPDATE memory SET supersedes = ${wrong.id} WHERE namespace = ${namespace} AND ordinal = ${right.ordinal}`);
  await recordChanges(transaction, run, [{ kind: 'corrected', ordinal: wrong.ordinal, detail: { by: right.ordinal } }]);
  return true;
}

/** Takes memories out of the queue of those to be looked at. See `Storage.dropCandidates`. */
export async function dropCandidates(
  transaction: Transaction,
  run: RunRef,
  memories: readonly SeenMemory[],
): Promise<void> {
  await assertRunning(transaction, run);
  await dropSeen(transaction, run.namespace, memories);
}

// Those that have been written since they were looked at stay.
async function dropSeen(transaction: Transaction, namespace: string, memories: readonly SeenMemory[]): Promise<void> {
  await transaction.run(sql`
    DELETE FROM distil_candidate WHERE namespace = ${namespace} AND ordinal IN (
      SELECT m.ordinal FROM ${toRecords(transaction, memories)} CROSS JOIN memory m
      WHERE m.namespace = ${namespace} AND m.ordinal = seen.ordinal AND m.version = seen.version)`);
}

/** Whether memories of one owner are as they were when they were read, and others may be distilled from them. */
async function areAsSeen(queries: Queries, namespace: string, memories: readonly SeenMemory[]): Promise<boolean> {
  const changed = await queries.row(sql`
    SELECT 1 FROM ${toRecords(queries, memories)}
    LEFT JOIN memory m ON m.namespace = ${namespace} AND m.ordinal = seen.ordinal AND m.version = seen.version
      AND m.tier = 'episodic' AND ${raw(DISTILLABLE)}
    WHERE m.ordinal IS NULL LIMIT 1`);
  return changed === undefined && (await haveOneOwner(queries, namespace, getOrdinals(memories)));
}

/** Whether another semantic memory than this one was distilled from any of these. */
async function isSourceElsewhere(
  queries: Queries,
  namespace: string,
  memories: readonly SeenMemory[],
  semantic: number | undefined,
): Promise<boolean> {
  const other = await queries.row(sql`
    SELECT 1 FROM memory_source
    WHERE ${queries.dialect.isMemory('source', namespace, getOrdinals(memories))}
      AND semantic IS DISTINCT FROM CAST(${semantic ?? null} AS bigint) LIMIT 1`);
  return other !== undefined;
}

async function haveOneOwner(queries: Queries, namespace: string, ordinals: readonly number[]): Promise<boolean> {
  const owners = await queries.rows(sql`
    SELECT DISTINCT m.user_id, m.agent_id FROM memory m
    WHERE ${queries.dialect.isMemory('m.ordinal', namespace, ordinals)} LIMIT 2`);
  return owners.length === 1;
}

/** Returns memories as a table named `seen`. */
function toRecords({ dialect }: Queries, memories: readonly SeenMemory[]): Sql {
  return dialect.records('seen', { ordinal: 'bigint', version: 'integer' }, memories);
}

function getOrdinals(memories: readonly { ordinal: number }[]): number[] {
  return memories.map(({ ordinal }) => ordinal);
}
