import { DamagedDatabase } from '../damage.ts';
import type { Queries } from './queries.ts';
import { sql } from './sql.ts';

/** See `Storage.secret`. */
export async function secret(queries: Queries): Promise<string> {
  const row = await queries.row<{ value: unknown }>(sql`SELECT value FROM property WHERE name = 'secret'`);
  if (typeof row?.value !== 'string') throw new DamagedDatabase('the secret that seals cursors is missing');
  return row.value;
}
