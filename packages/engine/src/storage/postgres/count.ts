import type { Queries } from './connection.ts';
import { type Sql, sql } from './sql.ts';

/** How many rows there are: `rows` is what follows FROM. */
export async function count(queries: Queries, rows: Sql): Promise<number> {
  const counted = await queries.row<{ count: number }>(sql`SELECT count(*) AS count FROM ${rows}`);
  return counted?.count ?? 0;
}
