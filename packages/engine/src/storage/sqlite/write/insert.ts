import type { Tier } from '@memoryd/contract';
import { takenByNew } from '../../quota.ts';
import { countTiers } from '../../sql/count-tiers.ts';
import { countUsage } from '../../sql/count-usage.ts';
import { addAttributes } from '../../sql/memory-attributes.ts';
import type { NewRow } from '../../sql/new-row.ts';
import { textDigest } from '../../text-digest.ts';
import { type Connection, sql } from '../connection.ts';
import { entryOf } from '../entry-of.ts';
import type { FileQueries } from '../queries.ts';
import { enterNew, type NewEntry } from '../recall-entry.ts';

/** A memory that has its row. */
export interface Inserted extends NewEntry {
  memory: NewRow;
}

/** Lets new memories into a tier and into recall; returns their ordinals, in their order. */
export async function insertMemories(queries: FileQueries, memories: readonly NewRow[], tier: Tier): Promise<number[]> {
  const inserted = memories.map((memory) => {
    const ordinal = insertRow(queries.connection, memory, tier);
    return { memory, ordinal, entry: entryOf(memory, ordinal) };
  });
  await finishInsert(queries, inserted, tier);
  return inserted.map(({ ordinal }) => ordinal);
}

/** Does what is left for memories that have their rows: labels, entries and counts. */
export async function finishInsert(queries: FileQueries, inserted: readonly Inserted[], tier: Tier): Promise<void> {
  if (inserted.length === 0) return;
  await addAttributes(
    queries,
    inserted.map(({ memory: { namespace, tags, metadata }, ordinal }) => ({ namespace, ordinal, tags, metadata })),
  );
  enterNew(queries.connection, inserted);
  await countTiers(
    queries,
    inserted.map(({ memory: { namespace } }) => ({ namespace, tier, count: 1 })),
  );
  if (tier === 'semantic') return;
  await countUsage(
    queries,
    inserted.map(({ memory }) => ({ namespace: memory.namespace, ...takenByNew(memory) })),
  );
}

/** Writes the row of a new memory; returns its ordinal. */
export function insertRow(connection: Connection, memory: NewRow, tier: Tier): number {
  const { lastInsertRowid } = sql(
    connection,
    `INSERT INTO memory (namespace, id, session_id, source, tier, importance, created_at, stored_at, updated_at,
       expires_at, supersedes, version, revision, distilled_revision, text_digest, tags, metadata, content)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 1, ?, ?, ?, ?, ?)`,
  ).run(
    memory.namespace,
    memory.id,
    memory.sessionId,
    memory.source,
    tier,
    memory.importance,
    memory.createdAt,
    memory.storedAt,
    memory.storedAt,
    memory.expiresAt,
    memory.supersedes,
    tier === 'semantic' ? 1 : null,
    textDigest(memory.content),
    JSON.stringify(memory.tags),
    JSON.stringify(memory.metadata),
    memory.content,
  );
  return Number(lastInsertRowid);
}
