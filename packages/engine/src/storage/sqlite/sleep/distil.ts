import type { DistilledMemory, RefreshedMemory, SeenCorrection, SeenMemory } from '../../../ports/storage-distil.ts';
import type { RunRef } from '../../../ports/storage-runs.ts';
import { DISTILLABLE } from '../../conditions.ts';
import { isWritten, semanticOf } from '../../sources.ts';
import { assertRunning, recordChanges } from '../../sql/run.ts';
import { mayCorrect, type Target } from '../../target.ts';
import { addAttributes } from '../attributes.ts';
import { type Connection, sql } from '../connection.ts';
import { entryOf } from '../entry-of.ts';
import type { FileQueries } from '../queries.ts';
import { enterNew, relabel, waitBehindOthers } from '../recall-entry.ts';
import { countArrivals } from '../write/arrivals.ts';
import { findByOrdinal } from '../write/find.ts';
import { describe, distilledFrom, readSources, setDistilledText, setSources, sourcesOf } from '../write/sources.ts';
import { insert } from '../write/store.ts';
import { rememberText } from '../write/text.ts';

/** Makes a semantic memory. See `Storage.distil`. */
export async function distil(queries: FileQueries, run: RunRef, memory: DistilledMemory): Promise<number | undefined> {
  const { connection } = queries;
  await assertRunning(queries, run);
  const { namespace } = run;
  if (!areAsSeen(connection, namespace, memory.sources, undefined)) return undefined;
  const sources = ordinalsOf(memory.sources);
  const ordinal = insertSemantic(connection, namespace, memory, sources);
  dropSeen(connection, namespace, memory.sources);
  await recordChanges(queries, run, [{ kind: 'distilled', ordinal, detail: { version: 1, sources } }]);
  return ordinal;
}

function insertSemantic(
  connection: Connection,
  namespace: string,
  distilled: DistilledMemory,
  ordinals: number[],
): number {
  const memory = semanticOf(namespace, distilled, readSources(connection, ordinals));
  const ordinal = insert(connection, memory, 'semantic');
  countArrivals(connection, namespace, [{ tier: 'semantic', evictedAt: null, bytes: 0 }]);
  addAttributes(connection, namespace, ordinal, memory.tags, memory.metadata);
  setSources(connection, namespace, ordinal, ordinals);
  enterNew(connection, [{ ordinal, entry: entryOf(memory, ordinal) }]);
  waitBehindOthers(connection, ordinal);
  return ordinal;
}

/** Gives a semantic memory another text and other sources. See `Storage.refresh`. */
export async function refresh(queries: FileQueries, run: RunRef, memory: RefreshedMemory): Promise<boolean> {
  const { connection } = queries;
  await assertRunning(queries, run);
  const { namespace } = run;
  const { semantic } = memory;
  const target = findByOrdinal(connection, semantic);
  if (!target || target.evictedAt !== null || isWritten(target)) return false;
  if (!areAsSeen(connection, namespace, memory.sources, semantic)) return false;
  const earlier = sourcesOf(connection, semantic);
  setSources(connection, namespace, semantic, ordinalsOf(memory.sources));
  describe(connection, namespace, target, sourcesOf(connection, semantic));
  if (memory.content === target.content) relabel(connection, semantic);
  else {
    rememberText(connection, target, memory.at);
    setDistilledText(connection, namespace, target, memory.content);
  }
  dropSeen(connection, namespace, memory.sources);
  const detail = { version: target.version, revision: target.revision, sources: ordinalsOf(earlier) };
  await recordChanges(queries, run, [{ kind: 'refreshed', ordinal: semantic, detail }]);
  return true;
}

/** Lets a memory rank below another that corrects it. See `Storage.correct`. */
export async function correct(queries: FileQueries, run: RunRef, { corrected, by }: SeenCorrection): Promise<boolean> {
  const { connection } = queries;
  await assertRunning(queries, run);
  if (![corrected, by].every((seen) => isAsSeen(connection, run.namespace, seen))) return false;
  const wrong = findByOrdinal(connection, corrected.ordinal) as Target;
  const right = findByOrdinal(connection, by.ordinal) as Target;
  if (!mayCorrect(right, wrong)) return false;
  sql(connection, 'UPDATE memory SET superseded_by = ? WHERE ordinal = ?').run(right.id, wrong.ordinal);
  sql(connection, 'UPDATE memory SET supersedes = ? WHERE ordinal = ?').run(wrong.id, right.ordinal);
  await recordChanges(queries, run, [{ kind: 'corrected', ordinal: wrong.ordinal, detail: { by: right.ordinal } }]);
  return true;
}

/** Takes memories out of the queue of those to be looked at. See `Storage.dropCandidates`. */
export async function dropCandidates(
  queries: FileQueries,
  run: RunRef,
  memories: readonly SeenMemory[],
): Promise<void> {
  await assertRunning(queries, run);
  dropSeen(queries.connection, run.namespace, memories);
}

// Those that have been written since they were looked at stay.
function dropSeen(connection: Connection, namespace: string, memories: readonly SeenMemory[]): void {
  for (const { ordinal, version } of memories) {
    sql(
      connection,
      `DELETE FROM distil_candidate WHERE namespace = @namespace AND ordinal = @ordinal
         AND EXISTS (SELECT 1 FROM memory WHERE ordinal = @ordinal AND version = @version)`,
    ).run({ namespace, ordinal, version });
  }
}

/** Whether memories may still be what `semantic`, or a new memory, is distilled from. */
function areAsSeen(
  connection: Connection,
  namespace: string,
  sources: readonly SeenMemory[],
  semantic: number | undefined,
): boolean {
  return sources.every((source) => {
    const other = distilledFrom(connection, source.ordinal);
    return (other === undefined || other === semantic) && isAsSeen(connection, namespace, source);
  });
}

function isAsSeen(connection: Connection, namespace: string, { ordinal, version }: SeenMemory): boolean {
  const same = sql(
    connection,
    `SELECT 1 FROM memory m WHERE m.ordinal = ? AND m.namespace = ? AND m.version = ? AND m.tier = 'episodic' AND ${DISTILLABLE}`,
  ).get(ordinal, namespace, version);
  return same !== undefined;
}

function ordinalsOf(memories: readonly { ordinal: number }[]): number[] {
  return memories.map(({ ordinal }) => ordinal);
}
