import type { Target } from '../../target.ts';
import { type Connection, sql } from '../connection.ts';
import { enterRecall } from '../recall-entry.ts';
import { correctAnew } from './corrections.ts';

/** Makes a merged twin a memory of its own, in recall unless it was evicted; what corrects it corrects it alone. */
export function setFree(
  connection: Connection,
  namespace: string,
  { ordinal, mergedInto, evictedAt }: Pick<Target, 'ordinal' | 'mergedInto' | 'evictedAt'>,
): void {
  const correctedBy = sql(connection, 'UPDATE memory SET merged_into = NULL WHERE ordinal = ? RETURNING superseded_by')
    .pluck()
    .get(ordinal) as string | null;
  if (evictedAt === null) enterRecall(connection, ordinal);
  if (correctedBy !== null && mergedInto !== null) correctAnew(connection, namespace, [mergedInto]);
}
