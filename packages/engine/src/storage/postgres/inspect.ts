import { connect } from './connection.ts';
import { usableSchema } from './migrate.ts';
import { MIGRATIONS } from './schema.ts';

/** The step of the schema that a database is at, 0 where it is empty, and the last one that this memoryd takes it to. */
export interface SchemaSteps {
  at: number;
  last: number;
}

/** Looks at a database without changing it. Rejects with UNAVAILABLE where memoryd could not use it. */
export async function inspectPostgres(url: string): Promise<SchemaSteps> {
  const connection = connect({ url, connections: 1 });
  try {
    return { at: await usableSchema(connection), last: MIGRATIONS.length };
  } finally {
    await connection.close();
  }
}
