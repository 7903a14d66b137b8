import type { Recorded } from '../../run-change.ts';
import type { Target } from '../../target.ts';
import { type Connection, sql } from '../connection.ts';
import { relabel } from '../recall-entry.ts';
import { findByOrdinal } from '../write/find.ts';
import { erase } from '../write/forget.ts';
import {
  decline,
  describe,
  distilAgain,
  distilledFrom,
  readSources,
  setDistilledText,
  setSources,
  sourcesOf,
} from '../write/sources.ts';

/** Removes a semantic memory that a run has made. Its group is not distilled again before it changes. */
export function undistil(connection: Connection, { namespace, ordinal, detail }: Recorded<'distilled'>): void {
  const target = findByOrdinal(connection, ordinal);
  if (target?.version !== detail.version) return;
  decline(connection, namespace, ordinal);
  erase(connection, namespace, [target]);
}

/** Gives a semantic memory the sources that it had, those that have been forgotten left out, and its text from then. */
export function unrefresh(connection: Connection, { namespace, ordinal, detail }: Recorded<'refreshed'>): void {
  const target = findByOrdinal(connection, ordinal);
  if (target?.version !== detail.version) return;
  const sources = detail.sources.filter((source) => canBeSource(connection, source, ordinal));
  if (sources.length === 0) return;
  decline(connection, namespace, ordinal);
  setSources(connection, namespace, ordinal, sources);
  describe(connection, namespace, target, readSources(connection, sources));
  if (target.revision === detail.revision) relabel(connection, ordinal);
  else restoreText(connection, namespace, target, detail.revision);
}

// Also where it is merged: a merge by the same run is taken back next, and by a later one hides no text.
function canBeSource(connection: Connection, source: number, semantic: number): boolean {
  const { tier } = findByOrdinal(connection, source) ?? {};
  return tier === 'episodic' && [undefined, semantic].includes(distilledFrom(connection, source));
}

// Where a source has been forgotten since, no earlier text is left.
function restoreText(connection: Connection, namespace: string, target: Target, revision: number): void {
  const { ordinal } = target;
  const content = sql(connection, 'DELETE FROM memory_history WHERE ordinal = ? AND revision = ? RETURNING content')
    .pluck()
    .get(ordinal, revision) as string | undefined;
  if (content === undefined) distilAgain(connection, namespace, target, sourcesOf(connection, ordinal));
  else setDistilledText(connection, namespace, target, content);
}

/** Lets a memory no longer rank below another that a run took for its correction. */
export function uncorrect(connection: Connection, { ordinal, detail }: Recorded<'corrected'>): void {
  const wrong = findByOrdinal(connection, ordinal);
  const right = findByOrdinal(connection, detail.by);
  if (!wrong || right?.supersedes !== wrong.id) return;
  sql(connection, 'UPDATE memory SET supersedes = NULL WHERE ordinal = ?').run(right.ordinal);
  sql(connection, 'UPDATE memory SET superseded_by = NULL WHERE ordinal = ? AND superseded_by = ?').run(
    ordinal,
    right.id,
  );
}
