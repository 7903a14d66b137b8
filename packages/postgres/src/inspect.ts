import type { SchemaSteps } from '@memoryd/engine/storage-kit';
import { connect } from './connection.ts';
import { usableSchema } from './migrate.ts';
import { MIGRATIONS } from './schema.ts';

/** Looks at a database without changing it. Rejects with UNAVAILABLE where memoryd could not use it. */
export async function inspectPostgres(url: string): Promise<SchemaSteps> {
  const connection = connect({ url, connections: 1 });
  try {
    return { at: await usableSchema(connection), last: MIGRATIONS.length };
  } finally {
    await connection.close();
  }
}
