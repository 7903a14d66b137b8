import type { Queries } from './queries.ts';
import { sql } from './sql.ts';

/** Returns what is noted of a database under a name; undefined where nothing is. */
export async function getProperty(queries: Pick<Queries, 'row'>, name: string): Promise<string | undefined> {
  return (await queries.row<{ value: string }>(sql`SELECT value FROM property WHERE name = ${name}`))?.value;
}

/** Notes something in place of what was noted under a name. */
export async function setProperty(queries: Queries, name: string, value: string): Promise<void> {
  await queries.run(sql`
    INSERT INTO property (name, value) VALUES (${name}, ${value})
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`);
}

export async function deleteProperty(queries: Queries, name: string): Promise<void> {
  await queries.run(sql`DELETE FROM property WHERE name = ${name}`);
}
