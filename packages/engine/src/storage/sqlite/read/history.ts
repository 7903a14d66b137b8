import type { Page, PageRequest } from '../../../ports/page.ts';
import type { MemoryText } from '../../../ports/storage-memories.ts';
import { type TextRow, takeTexts } from '../../take-texts.ts';
import { type Connection, sql } from '../connection.ts';

interface Owner {
  ordinal: number;
  storedAt: number;
}

/** Every text of a memory after a revision, oldest first; the present one, which is the last, was not replaced. */
const TEXTS = `SELECT revision, content, replaced_at AS heldUntil FROM memory_history
  WHERE ordinal = @ordinal AND revision > @after
  UNION ALL SELECT revision, content, NULL FROM memory WHERE ordinal = @ordinal AND revision > @after`;

/** See `Storage.history`. A place is a revision. */
export function history(
  connection: Connection,
  namespace: string,
  id: string,
  request: PageRequest<number>,
  now: number,
): Page<MemoryText, number> | undefined {
  const owner = findOwner(connection, namespace, id, now);
  if (!owner) return undefined;
  const { limit, after = 0 } = request;
  // Before the rows, which would stay open where one of these fails.
  const total = countTexts(connection, owner);
  const heldFrom = heldFromAfter(connection, owner, after);
  const rows = sql(connection, `${TEXTS} ORDER BY revision LIMIT @limit`).iterate({
    ordinal: owner.ordinal,
    after,
    limit: limit + 1,
  }) as Iterable<TextRow>;
  return takeTexts(rows, request, total, heldFrom);
}

/** See `Storage.textAt`. */
export function textAt(
  connection: Connection,
  namespace: string,
  id: string,
  at: number,
  now: number,
): MemoryText | undefined {
  const owner = findOwner(connection, namespace, id, now);
  if (!owner || at < owner.storedAt) return undefined;
  const row = sql(
    connection,
    `SELECT * FROM (${TEXTS}) WHERE heldUntil IS NULL OR heldUntil > @at ORDER BY revision LIMIT 1`,
  ).get({ ordinal: owner.ordinal, after: 0, at }) as TextRow;
  return { ...row, heldFrom: heldFromAfter(connection, owner, row.revision - 1) };
}

function findOwner(connection: Connection, namespace: string, id: string, now: number): Owner | undefined {
  return sql(
    connection,
    `SELECT ordinal, stored_at AS storedAt FROM memory
     WHERE namespace = ? AND id = ? AND evicted_at IS NULL AND (expires_at IS NULL OR expires_at > ?)`,
  ).get(namespace, id, now) as Owner | undefined;
}

function countTexts(connection: Connection, { ordinal }: Owner): number {
  const earlier = sql(connection, 'SELECT count(*) FROM memory_history WHERE ordinal = ?').pluck().get(ordinal);
  return (earlier as number) + 1;
}

/** From when the first text after a revision held. */
function heldFromAfter(connection: Connection, { ordinal, storedAt }: Owner, revision: number): number {
  const replacedAt = sql(
    connection,
    'SELECT replaced_at FROM memory_history WHERE ordinal = ? AND revision <= ? ORDER BY revision DESC LIMIT 1',
  )
    .pluck()
    .get(ordinal, revision) as number | undefined;
  return replacedAt ?? storedAt;
}
