import type { ModelInUse } from '../model-in-use.ts';
import type { Queries } from './connection.ts';
import { sql } from './sql.ts';

/** The model in use, once there has been one. */
export function modelInUse(queries: Queries): Promise<ModelInUse | undefined> {
  return queries.row<ModelInUse>(
    sql`SELECT no AS number, model_id AS "modelId", dimensions FROM embedding_model WHERE in_use`,
  );
}
