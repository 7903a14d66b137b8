import { textDigest } from '../text-digest.ts';
import { enterAgain } from './candidates.ts';
import type { FoundMemory } from './find-memory.ts';
import { sql } from './sql.ts';
import type { Transaction } from './transaction.ts';

/** Keeps the text that a memory has, and is about to lose, in its history; it was held at least until it was given. */
export async function rememberText(
  transaction: Transaction,
  { namespace, ordinal, revision, content }: FoundMemory,
  at: number,
): Promise<void> {
  const { greatest } = transaction.dialect;
  await transaction.run(sql`
    INSERT INTO memory_history (namespace, ordinal, revision, replaced_at, content)
    SELECT namespace, ordinal, CAST(${revision} AS integer), ${greatest}(CAST(${at} AS bigint), stored_at, coalesce((
      SELECT h.replaced_at FROM memory_history h WHERE h.namespace = ${namespace} AND h.ordinal = ${ordinal}
      ORDER BY h.revision DESC LIMIT 1), 0)), ${content}
    FROM memory WHERE namespace = ${namespace} AND ordinal = ${ordinal}`);
}

/** Gives a memory another text, and lets it wait for other vectors. */
export async function setText(transaction: Transaction, target: FoundMemory, content: string): Promise<void> {
  const { namespace, ordinal, mergedInto, evictedAt } = target;
  await transaction.recall.remove(namespace, [ordinal]);
  await transaction.run(sql`
    UPDATE memory SET content = ${content}, text_digest = ${textDigest(content)}, revision = revision + 1
    WHERE namespace = ${namespace} AND ordinal = ${ordinal}`);
  if (mergedInto === null && evictedAt === null) await enterAgain(transaction, namespace, ordinal);
}
