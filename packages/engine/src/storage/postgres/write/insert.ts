import type { Tier } from '@memoryd/contract';
import { takenByNew } from '../../quota.ts';
import { countTiers } from '../../sql/count-tiers.ts';
import { countUsage } from '../../sql/count-usage.ts';
import { addAttributes } from '../../sql/memory-attributes.ts';
import type { NewRow } from '../../sql/new-row.ts';
import type { Queries } from '../../sql/queries.ts';
import { sql } from '../../sql/sql.ts';
import { textDigest } from '../../text-digest.ts';
import { enterRecall } from '../recall-entry.ts';
import type { OwnQueries } from '../transaction.ts';

/** Lets new memories into a tier and into recall. Answers their ordinals, in their order. */
export async function insertMemories(queries: OwnQueries, memories: readonly NewRow[], tier: Tier): Promise<number[]> {
  if (memories.length === 0) return [];
  const reserved = await reserveOrdinals(queries, memories.length);
  const numbered = memories.map((memory, i) => ({ ...memory, tier, ordinal: reserved[i] as number }));
  await insertRows(queries, numbered);
  await addAttributes(queries, numbered);
  await enterRecall(queries, numbered);
  await countTiers(
    queries,
    numbered.map(({ namespace }) => ({ namespace, tier, count: 1 })),
  );
  if (tier !== 'semantic') {
    await countUsage(
      queries,
      numbered.map((memory) => ({ namespace: memory.namespace, ...takenByNew(memory) })),
    );
  }
  return numbered.map(({ ordinal }) => ordinal);
}

/** Takes the next ordinals for memories that arrive. */
export async function reserveOrdinals(queries: Queries, count: number): Promise<number[]> {
  const reserved = await queries.rows<{ ordinal: number }>(
    sql`SELECT nextval('memory_ordinal') AS ordinal FROM generate_series(1, ${count}::integer)`,
  );
  return reserved.map(({ ordinal }) => ordinal);
}

async function insertRows(
  queries: OwnQueries,
  memories: readonly (NewRow & { tier: Tier; ordinal: number })[],
): Promise<void> {
  const rows = memories.map((memory) => ({
    namespace: memory.namespace,
    ordinal: memory.ordinal,
    id: memory.id,
    session_id: memory.sessionId,
    source: memory.source,
    tier: memory.tier,
    importance: memory.importance,
    created_at: memory.createdAt,
    stored_at: memory.storedAt,
    expires_at: memory.expiresAt,
    supersedes: memory.supersedes,
    text_digest: textDigest(memory.content).toString('hex'),
    tags: JSON.stringify(memory.tags),
    metadata: JSON.stringify(memory.metadata),
    content: memory.content,
  }));
  await queries.run(sql`
    INSERT INTO memory (namespace, ordinal, id, session_id, source, tier, importance, created_at, stored_at, updated_at,
      expires_at, supersedes, version, revision, distilled_revision, text_digest, tags, metadata, content)
    SELECT namespace, ordinal, id, session_id, source, tier, importance, created_at, stored_at, stored_at,
      expires_at, supersedes, 1, 1, CASE WHEN tier = 'semantic' THEN 1 END, decode(text_digest, 'hex'), tags, metadata,
      content
    FROM json_to_recordset(${JSON.stringify(rows)}::json) AS row(
      namespace text, ordinal bigint, id text, session_id text, source text, tier text, importance double precision,
      created_at bigint, stored_at bigint, expires_at bigint, supersedes text, text_digest text, tags text,
      metadata text, content text)`);
}
