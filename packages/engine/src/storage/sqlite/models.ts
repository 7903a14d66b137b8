import type { ModelInUse } from '../model-in-use.ts';
import { type Connection, sql } from './connection.ts';

/** The model in use, once there has been one. */
export function modelInUse(connection: Connection): ModelInUse | undefined {
  return sql(
    connection,
    'SELECT no AS number, model_id AS modelId, dimensions FROM embedding_model WHERE in_use',
  ).get() as ModelInUse | undefined;
}

/** The dimensions of every model that has made a vector. */
export function dimensionsByModel(connection: Connection): Map<number, number> {
  const models = sql(connection, 'SELECT no, dimensions FROM embedding_model WHERE dimensions IS NOT NULL').raw().all();
  return new Map(models as [number, number][]);
}
