import { type Connection, sql } from '../connection.ts';
import { addAttributes, leaveRecall } from '../recall-entry.ts';
import { canonicalText } from '../text-digest.ts';
import { addAccess } from './access.ts';

/** Memories that may be exact duplicates: one session, one digest of the text, one time of expiry. */
export interface TwinGroup {
  sessionId: string | null;
  digest: Buffer;
  expiresAt: number | null;
}

interface Twin {
  ordinal: number;
  id: string;
  content: string;
  importance: number;
  tags: string;
  count: number | null;
  lastAt: number | null;
}

/*
 * Twins that expire at different times or take part in a correction stay apart: merging them would hide a text earlier
 * than its client said, or change what corrects what.
 */
const MERGEABLE = `namespace = @namespace AND merged_into IS NULL AND evicted_at IS NULL AND tier <> 'semantic'
  AND supersedes IS NULL AND superseded_by IS NULL`;

/** A larger group is merged in several steps; its oldest memory is in each of them. */
const MOST_TWINS_AT_ONCE = 64;

/** Groups with something to merge, at most `limit`. */
export function findTwinGroups(connection: Connection, namespace: string, limit: number): TwinGroup[] {
  return sql(
    connection,
    `SELECT session_id AS sessionId, text_digest AS digest, expires_at AS expiresAt FROM memory
     WHERE ${MERGEABLE} GROUP BY session_id, text_digest, expires_at HAVING count(*) > 1 LIMIT @limit`,
  ).all({ namespace, limit }) as TwinGroup[];
}

/** Merges each group into its oldest memory; answers how many twins were merged. */
export function mergeGroups(connection: Connection, namespace: string, groups: readonly TwinGroup[]): number {
  let merged = 0;
  for (const group of groups) {
    for (const twins of byExactText(readTwins(connection, namespace, group))) {
      merged += mergeTwins(connection, namespace, twins);
    }
  }
  return merged;
}

function readTwins(connection: Connection, namespace: string, group: TwinGroup): Twin[] {
  return sql(
    connection,
    `SELECT m.ordinal, m.id, m.content, m.importance, m.tags, a.count, a.last_at AS lastAt
     FROM memory m LEFT JOIN memory_access a ON a.ordinal = m.ordinal
     WHERE ${MERGEABLE} AND session_id IS @sessionId AND text_digest = @digest AND expires_at IS @expiresAt
     ORDER BY m.created_at, m.ordinal LIMIT ${MOST_TWINS_AT_ONCE}`,
  ).all({
    namespace,
    sessionId: group.sessionId,
    digest: toBuffer(group.digest),
    expiresAt: group.expiresAt,
  }) as Twin[];
}

// Digests brought by a message from another thread arrive as plain byte arrays.
function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

// Equal digests are not yet equal texts; nothing is merged on a digest alone.
function byExactText(twins: readonly Twin[]): Iterable<Twin[]> {
  const groups = new Map<string, Twin[]>();
  for (const twin of twins) {
    const text = canonicalText(twin.content);
    const group = groups.get(text);
    if (group) group.push(twin);
    else groups.set(text, [twin]);
  }
  return groups.values();
}

function mergeTwins(connection: Connection, namespace: string, [survivor, ...others]: Twin[]): number {
  if (!survivor || others.length === 0) return 0;
  gain(connection, namespace, survivor, others);
  for (const twin of others) {
    leaveRecall(connection, namespace, twin.ordinal);
    sql(connection, 'UPDATE memory SET merged_into = ? WHERE ordinal = ?').run(survivor.id, twin.ordinal);
    // One that was merged into this twin now stands with it.
    sql(connection, 'UPDATE memory SET merged_into = ? WHERE namespace = ? AND merged_into = ?').run(
      survivor.id,
      namespace,
      twin.id,
    );
  }
  return others.length;
}

function gain(connection: Connection, namespace: string, survivor: Twin, others: readonly Twin[]): void {
  const all = [survivor, ...others];
  const tags = [...new Set(all.flatMap((twin) => JSON.parse(twin.tags) as string[]))];
  sql(connection, 'UPDATE memory SET importance = ?, tags = ? WHERE ordinal = ?').run(
    Math.max(...all.map((twin) => twin.importance)),
    JSON.stringify(tags),
    survivor.ordinal,
  );
  addAttributes(connection, namespace, survivor.ordinal, tags, {});
  const count = others.reduce((sum, twin) => sum + (twin.count ?? 0), 0);
  if (count === 0) return;
  const lastAt = Math.max(...all.map((twin) => twin.lastAt ?? 0));
  addAccess(connection, survivor.ordinal, count, lastAt);
}
