import type {
  CorrectionPair,
  DistilledMemory,
  MemoryVersion,
  RefreshedMemory,
  RunRef,
} from '../ports/storage-consolidation.ts';
import { deferEmbedding } from './consolidation-queue.ts';
import { rememberFields } from './field-history.ts';
import { DISTILLABLE } from './filters.ts';
import { canSupersede, type FoundMemory, findByOrdinal } from './find-memory.ts';
import { supersede } from './forget-memories.ts';
import { insertMemories } from './memory-rows.ts';
import type { Queries, Transaction } from './queries.ts';
import { assertRunning, recordChanges } from './runs.ts';
import {
  getSources,
  isChangedByClient,
  readSources,
  setDistilledText,
  setSources,
  toSemanticMemory,
  updateSharedFields,
} from './semantic-sources.ts';
import { raw, type Sql, sql } from './sql.ts';
import { rememberText } from './text-history.ts';

/** Stores a semantic memory with its sources. See `Storage.distil`. */
export async function distil(
  transaction: Transaction,
  run: RunRef,
  distilled: DistilledMemory,
): Promise<number | undefined> {
  await assertRunning(transaction, run);
  const { namespace } = run;
  if (!(await areUnchanged(transaction, namespace, distilled.sources))) return undefined;
  if (await isSourceElsewhere(transaction, namespace, distilled.sources, undefined)) return undefined;
  const sources = getOrdinals(distilled.sources);
  const memory = toSemanticMemory(namespace, distilled, await readSources(transaction, namespace, sources));
  const [ordinal] = (await insertMemories(transaction, [memory], 'semantic')) as [number];
  await deferEmbedding(transaction, namespace, ordinal);
  await setSources(transaction, namespace, ordinal, sources);
  await dropSeen(transaction, namespace, distilled.sources);
  await recordChanges(transaction, run, [{ kind: 'distilled', ordinal, detail: { version: 1, sources } }]);
  return ordinal;
}

/** Replaces the text and the sources of a semantic memory. See `Storage.refresh`. */
export async function refresh(transaction: Transaction, run: RunRef, refreshed: RefreshedMemory): Promise<boolean> {
  await assertRunning(transaction, run);
  const { namespace } = run;
  const { semantic } = refreshed;
  const target = await findByOrdinal(transaction, namespace, semantic);
  if (!target || target.evictedAt !== null || isChangedByClient(target)) return false;
  if (!(await areUnchanged(transaction, namespace, refreshed.sources))) return false;
  if (!(await haveSameOwner(transaction, namespace, [semantic, ...getOrdinals(refreshed.sources)]))) return false;
  if (await isSourceElsewhere(transaction, namespace, refreshed.sources, semantic)) return false;
  const earlier = await getSources(transaction, namespace, semantic);
  await rememberFields(transaction, namespace, [semantic], refreshed.at);
  await setSources(transaction, namespace, semantic, getOrdinals(refreshed.sources));
  await updateSharedFields(transaction, target, await getSources(transaction, namespace, semantic));
  if (refreshed.content !== target.content) {
    await rememberText(transaction, target, refreshed.at);
    await setDistilledText(transaction, target, refreshed.content);
  }
  await dropSeen(transaction, namespace, refreshed.sources);
  const detail = { version: target.version, revision: target.revision, sources: getOrdinals(earlier) };
  await recordChanges(transaction, run, [{ kind: 'refreshed', ordinal: semantic, detail }]);
  return true;
}

/** Marks a memory as superseded by another. See `Storage.correct`. */
export async function correct(
  transaction: Transaction,
  run: RunRef,
  { corrected, by, at }: CorrectionPair,
): Promise<boolean> {
  await assertRunning(transaction, run);
  const { namespace } = run;
  if (!(await areUnchanged(transaction, namespace, [corrected, by]))) return false;
  const superseded = (await findByOrdinal(transaction, namespace, corrected.ordinal)) as FoundMemory;
  const superseding = (await findByOrdinal(transaction, namespace, by.ordinal)) as FoundMemory;
  if (!canSupersede(superseding, superseded)) return false;
  await rememberFields(transaction, namespace, [superseding.ordinal], at);
  await supersede(transaction, namespace, superseded.id, superseding.ordinal, at);
  await transaction.run(sql`
    UPDATE memory SET supersedes = ${superseded.id} WHERE namespace = ${namespace} AND ordinal = ${superseding.ordinal}`);
  await recordChanges(transaction, run, [
    { kind: 'corrected', ordinal: superseded.ordinal, detail: { by: superseding.ordinal } },
  ]);
  return true;
}

/** Removes memories from the distilling queue. See `Storage.dropCandidates`. */
export async function dropCandidates(
  transaction: Transaction,
  run: RunRef,
  memories: readonly MemoryVersion[],
): Promise<void> {
  await assertRunning(transaction, run);
  await dropSeen(transaction, run.namespace, memories);
}

// Deletes only candidates with the given version. A memory that was changed since it was read stays queued.
async function dropSeen(
  transaction: Transaction,
  namespace: string,
  memories: readonly MemoryVersion[],
): Promise<void> {
  await transaction.run(sql`
    DELETE FROM distil_candidate WHERE namespace = ${namespace} AND ordinal IN (
      SELECT m.ordinal FROM ${toRecords(transaction, memories)} CROSS JOIN memory m
      WHERE m.namespace = ${namespace} AND m.ordinal = seen.ordinal AND m.version = seen.version)`);
}

/**
 * Returns true if the memories are unchanged since they were read, are episodic and distillable, and have one owner.
 */
async function areUnchanged(queries: Queries, namespace: string, memories: readonly MemoryVersion[]): Promise<boolean> {
  const changed = await queries.row(sql`
    SELECT 1 FROM ${toRecords(queries, memories)}
    LEFT JOIN memory m ON m.namespace = ${namespace} AND m.ordinal = seen.ordinal AND m.version = seen.version
      AND m.tier = 'episodic' AND ${raw(DISTILLABLE)}
    WHERE m.ordinal IS NULL LIMIT 1`);
  return changed === undefined && (await haveSameOwner(queries, namespace, getOrdinals(memories)));
}

/** Returns true if any of the memories is a source of a semantic memory other than `semantic`. */
async function isSourceElsewhere(
  queries: Queries,
  namespace: string,
  memories: readonly MemoryVersion[],
  semantic: number | undefined,
): Promise<boolean> {
  const other = await queries.row(sql`
    SELECT 1 FROM memory_source
    WHERE ${queries.dialect.isMemory('source', namespace, getOrdinals(memories))}
      AND semantic IS DISTINCT FROM CAST(${semantic ?? null} AS bigint) LIMIT 1`);
  return other !== undefined;
}

async function haveSameOwner(queries: Queries, namespace: string, ordinals: readonly number[]): Promise<boolean> {
  const owners = await queries.rows(sql`
    SELECT DISTINCT m.user_id, m.agent_id FROM memory m
    WHERE ${queries.dialect.isMemory('m.ordinal', namespace, ordinals)} LIMIT 2`);
  return owners.length === 1;
}

/** Returns memories as a table named `seen`. */
function toRecords({ dialect }: Queries, memories: readonly MemoryVersion[]): Sql {
  return dialect.records('seen', { ordinal: 'bigint', version: 'integer' }, memories);
}

function getOrdinals(memories: readonly { ordinal: number }[]): number[] {
  return memories.map(({ ordinal }) => ordinal);
}
