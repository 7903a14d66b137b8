import { DamagedDatabase } from '../damage.ts';
import type { Queries } from './queries.ts';
import { sql } from './sql.ts';

/** See `Storage.secret`. */
export async function secret(queries: Queries): Promise<string> {
  const row = await queries.row<{ value: string }>(sql`SELECT value FROM property WHERE name = 'secret'`);
  if (!row) throw new DamagedDatabase('its secret is gone');
  return row.value;
}
