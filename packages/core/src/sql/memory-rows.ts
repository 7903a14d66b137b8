import { hash } from 'node:crypto';
import type { Tier } from '@memoryd/contract';
import type { AttributeFields, Owner, Recallable } from '@memoryd/search';
import { getAttributes, textDigest } from '@memoryd/search';
import { attributeKey } from './attributes.ts';
import { queueNewMemories } from './consolidation-queue.ts';
import { countUsage } from './counters.ts';
import { addUsers, countEntering } from './list-counters.ts';
import { insertWords } from './memory-words.ts';
import type { Queries, Transaction } from './queries.ts';
import { getNewUsage } from './quotas.ts';
import { sql } from './sql.ts';

/** A memory that is not stored yet. Semantic memories have no session. */
interface NewRow extends Recallable {
  id: string;
  expiresAt: number | null;
  validFrom: number | null;
  validTo: number | null;
  supersedes: string | null;
  attachment?: string;
  /** Prebuilt index entry with the placeholder ordinal 0. If absent, the entry is built during the write. */
  entry?: Uint8Array;
}

/** The fields of a memory row. The column `merged_into` is set later. */
interface FullRow extends Omit<NewRow, 'entry'> {
  ordinal: number;
  tier: Tier;
  updatedAt: number;
  evictedAt: number | null;
  version: number;
  revision: number;
  distilledRevision: number | null;
}

/**
 * Stores and indexes new memories in a tier. Returns their ordinals in the same order.
 *
 * @param vectors whether a client waits for the vectors; see `RecallWriter.enterNew`
 */
export async function insertMemories(
  transaction: Transaction,
  memories: readonly NewRow[],
  tier: Tier,
  vectors: 'waited for' | 'not waited for' = 'waited for',
): Promise<number[]> {
  if (memories.length === 0) return [];
  const ordinals = await transaction.nextOrdinals(memories.length);
  const rows = memories.map((memory, i) => ({
    ...memory,
    ordinal: ordinals[i] as number,
    tier,
    updatedAt: memory.storedAt,
    evictedAt: null,
    version: 1,
    revision: 1,
    distilledRevision: tier === 'semantic' ? 1 : null,
  }));
  await insertRows(transaction, rows);
  await transaction.recall.enterNew(rows, vectors);
  await queueNewMemories(transaction, rows);
  await addUsers(transaction, await countEntering(transaction, rows));
  if (tier !== 'semantic') {
    await countUsage(
      transaction,
      rows.map((memory) => {
        const { namespace, userId, storedAt } = memory;
        return { namespace, userId, lastStoredAt: storedAt, ...getNewUsage(memory) };
      }),
    );
  }
  return ordinals;
}

const COLUMNS = {
  ordinal: 'bigint',
  namespace: 'text',
  id: 'text',
  session_id: 'text',
  user_id: 'text',
  agent_id: 'text',
  external_id: 'text',
  external_key: 'text',
  source: 'text',
  tier: 'text',
  importance: 'double precision',
  created_at: 'bigint',
  stored_at: 'bigint',
  updated_at: 'bigint',
  expires_at: 'bigint',
  valid_from: 'bigint',
  valid_to: 'bigint',
  evicted_at: 'bigint',
  supersedes: 'text',
  version: 'integer',
  revision: 'integer',
  distilled_revision: 'integer',
  text_digest: 'bytea',
  tags: 'text',
  metadata: 'text',
  attachment_bytes: 'integer',
  content: 'text',
} as const;

const ATTACHMENT_COLUMNS = { namespace: 'text', ordinal: 'bigint', attachment: 'text' } as const;

/** Returns the digest by which the memory with an external id is found. Owners and ids never contain U+0000. */
export function getExternalKey({ userId, agentId }: Owner, externalId: string): string {
  return hash('sha256', `${userId}\0${agentId}\0${externalId}`);
}

/** Writes the rows of memories, their attachments, attributes and words. */
export async function insertRows(transaction: Transaction, memories: readonly FullRow[]): Promise<void> {
  const rows = memories.map((memory) => ({
    ordinal: memory.ordinal,
    namespace: memory.namespace,
    id: memory.id,
    session_id: memory.sessionId,
    user_id: memory.userId,
    agent_id: memory.agentId,
    external_id: memory.externalId,
    external_key: memory.externalId === null ? null : getExternalKey(memory, memory.externalId),
    source: memory.source,
    tier: memory.tier,
    importance: memory.importance,
    created_at: memory.createdAt,
    stored_at: memory.storedAt,
    updated_at: memory.updatedAt,
    expires_at: memory.expiresAt,
    valid_from: memory.validFrom,
    valid_to: memory.validTo,
    evicted_at: memory.evictedAt,
    supersedes: memory.supersedes,
    version: memory.version,
    revision: memory.revision,
    distilled_revision: memory.distilledRevision,
    text_digest: textDigest(memory.content),
    tags: JSON.stringify(memory.tags),
    metadata: JSON.stringify(memory.metadata),
    attachment_bytes: Buffer.byteLength(memory.attachment ?? ''),
    content: memory.content,
  }));
  await transaction.insert('memory', COLUMNS, rows);
  const attachments = memories.flatMap(({ namespace, ordinal, attachment }) =>
    attachment ? [{ namespace, ordinal, attachment }] : [],
  );
  await insertAttachments(transaction, attachments);
  await addAttributes(transaction, memories);
  await insertWords(transaction, memories);
}

export async function insertAttachments(
  transaction: Transaction,
  attachments: readonly { namespace: string; ordinal: number; attachment: string }[],
): Promise<void> {
  await transaction.insert('memory_attachment', ATTACHMENT_COLUMNS, attachments);
}

/** The fields of a memory that determine its attributes. */
export interface MemoryAttributes extends AttributeFields {
  namespace: string;
  ordinal: number;
}

const ATTRIBUTE_COLUMNS = { namespace: 'text', name: 'text', value: 'text', ordinal: 'bigint' } as const;

export async function addAttributes(queries: Queries, memories: readonly MemoryAttributes[]): Promise<void> {
  await queries.insert('attribute', ATTRIBUTE_COLUMNS, memories.flatMap(toRows), sql`ON CONFLICT DO NOTHING`);
}

export async function removeAttributes(queries: Queries, memories: readonly MemoryAttributes[]): Promise<void> {
  await removeRows(queries, memories.flatMap(toRows));
}

/** Replaces the attributes of memories after a change of their fields. */
export async function replaceAttributes(
  queries: Queries,
  memories: readonly { before: MemoryAttributes; after: MemoryAttributes }[],
): Promise<void> {
  const former = new Map(memories.flatMap(({ before }) => toRows(before)).map((row) => [JSON.stringify(row), row]));
  const added = memories.flatMap(({ after }) => toRows(after)).filter((row) => !former.delete(JSON.stringify(row)));
  await removeRows(queries, [...former.values()]);
  await queries.insert('attribute', ATTRIBUTE_COLUMNS, added, sql`ON CONFLICT DO NOTHING`);
}

async function removeRows(queries: Queries, rows: ReturnType<typeof toRows>): Promise<void> {
  if (rows.length === 0) return;
  await queries.run(sql`DELETE FROM attribute WHERE ${queries.dialect.isRecord('attribute', ATTRIBUTE_COLUMNS, rows)}`);
}

function toRows({ namespace, ordinal, ...fields }: MemoryAttributes) {
  return Array.from(getAttributes(fields), ([name, value]) => ({
    namespace,
    name: attributeKey(name),
    value: attributeKey(value),
    ordinal,
  }));
}
