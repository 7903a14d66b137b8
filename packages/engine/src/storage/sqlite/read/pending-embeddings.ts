import type { EmbeddingBatch, PendingEmbedding, PendingEmbeddings } from '../../../ports/storage-vectors.ts';
import { type Connection, sql } from '../connection.ts';
import { modelInUse } from '../models.ts';
import type { FileQueries } from '../queries.ts';

const COUNTED_UP_TO = 1000;

/** See `Storage.pendingEmbeddings`. */
export async function pendingEmbeddings(
  { connection }: FileQueries,
  modelId: string,
  batch: EmbeddingBatch,
): Promise<PendingEmbeddings> {
  if (modelInUse(connection)?.modelId !== modelId) {
    return { isInUse: false, memories: [], anew: false, waiting: 0 };
  }
  const waiting = sql(
    connection,
    'SELECT count(*) FROM (SELECT 1 FROM pending_embedding p CROSS JOIN memory m USING (ordinal) WHERE p.anew = 0 LIMIT ?)',
  )
    .pluck()
    .get(COUNTED_UP_TO) as number;
  const anew = waiting === 0;
  return { isInUse: true, memories: takeBatch(connection, anew, batch), anew, waiting };
}

function takeBatch(
  connection: Connection,
  anew: boolean,
  { limit, newest, ...most }: EmbeddingBatch,
): PendingEmbedding[] {
  const rows = sql(
    connection,
    `SELECT m.ordinal, m.revision, m.content FROM pending_embedding p CROSS JOIN memory m USING (ordinal)
     WHERE p.anew = ? ORDER BY p.ordinal ${newest ? 'DESC' : ''} LIMIT ?`,
  ).iterate(anew ? 1 : 0, limit) as Iterable<PendingEmbedding>;
  const maxChars = anew ? most.maxCharsAnew : most.maxChars;
  const memories: PendingEmbedding[] = [];
  let chars = 0;
  for (const row of rows) {
    chars += row.content.length;
    if (memories.length > 0 && chars > maxChars) break;
    memories.push(row);
  }
  return memories;
}
