import { ErrorBody } from './error-body.ts';
import { Count } from './field.ts';
import { LIMITS } from './limits.ts';
import { StoreRequest, StoreResponse } from './store.ts';
import Type from './typebox.ts';

/**
 * Memories to store, each in the format of a single store request. A rejected memory does not affect the other
 * memories.
 */
export const StoreBatchRequest = Type.Array(StoreRequest, {
  maxItems: LIMITS.batchItems,
  description: `The memories to store, at most ${LIMITS.batchItems}.`,
  'x-must': `be an array of at most ${LIMITS.batchItems} memories to store`,
});
export type StoreBatchRequest = Type.Static<typeof StoreBatchRequest>;

/** The error of a memory of a batch that was not stored. */
export const StoreBatchError = Type.Object({ error: ErrorBody });
export type StoreBatchError = Type.Static<typeof StoreBatchError>;

/** Result for one memory of a batch: the stored memory, or the error. */
export const StoreBatchResult = Type.Union([StoreResponse, StoreBatchError]);
export type StoreBatchResult = Type.Static<typeof StoreBatchResult>;

export const StoreBatchResponse = Type.Object({
  results: Type.Array(StoreBatchResult, {
    description:
      'One result per memory, in request order. Paths in `details` start with the index of the memory, counted from 0.',
  }),
  stored_count: Count,
  failed_count: Count,
});
export type StoreBatchResponse = Type.Static<typeof StoreBatchResponse>;
