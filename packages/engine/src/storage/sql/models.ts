import { fromJson } from '../damage.ts';
import { getProperty } from './database-marks.ts';
import type { Queries } from './queries.ts';
import { raw } from './sql.ts';

/** Finds a `ModelInUse`. */
export const MODEL_IN_USE = 'SELECT no AS number, model_id AS "modelId", dimensions FROM embedding_model WHERE in_use';

/** The model in use, once there has been one. */
export function modelInUse(queries: Queries): Promise<ModelInUse | undefined> {
  return queries.row<ModelInUse>(raw(MODEL_IN_USE));
}

/**
 * The property that tells up to which entry a change of the model in use has come; there while it is not done. What
 * follows may lack the model's vectors and not wait for them yet.
 */
export const CHANGED_UNTIL = 'model_changed_until';

/** A place in the order of entries. */
export interface ChangedUntil {
  namespace: string;
  ordinal: number;
}

/** How far a change of the model has come; undefined where none is under way. */
export async function changedUntil(queries: Queries): Promise<ChangedUntil | undefined> {
  const kept = await getProperty(queries, CHANGED_UNTIL);
  return kept === undefined ? undefined : fromJson<ChangedUntil>(kept);
}

/** The model whose vectors every memory is to have; its dimensions are not known before it has made one. */
export interface ModelInUse {
  number: number;
  modelId: string;
  dimensions: number | null;
}
