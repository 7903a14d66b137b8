import type { Target } from '../../target.ts';
import { textDigest } from '../../text-digest.ts';
import { type Connection, sql } from '../connection.ts';
import { enterRecall, leaveRecall } from '../recall-entry.ts';

/** Keeps the text that a memory has, and is about to lose, in its history; it was held at least until it was given. */
export function rememberText(connection: Connection, { ordinal, revision, content }: Target, at: number): void {
  sql(
    connection,
    `INSERT INTO memory_history (namespace, ordinal, revision, replaced_at, content)
     SELECT namespace, ordinal, @revision, max(@at, stored_at, coalesce((
       SELECT replaced_at FROM memory_history WHERE ordinal = @ordinal ORDER BY revision DESC LIMIT 1), @at)), @content
     FROM memory WHERE ordinal = @ordinal`,
  ).run({ ordinal, revision, at, content });
}

/** Gives a memory another text, and lets it wait for other vectors. */
export function setText(connection: Connection, namespace: string, target: Target, content: string): void {
  const { ordinal, evictedAt } = target;
  leaveRecall(connection, namespace, ordinal);
  sql(connection, 'UPDATE memory SET content = ?, text_digest = ?, revision = revision + 1 WHERE ordinal = ?').run(
    content,
    textDigest(content),
    ordinal,
  );
  if (evictedAt === null) enterRecall(connection, ordinal);
}
