import { ErrorBody } from './error-body.ts';
import { Count } from './field.ts';
import { LIMITS } from './limits.ts';
import { StoreRequest, StoreResponse } from './store.ts';
import Type from './typebox.ts';

/** Memories to keep, each as a store of its own would name it. One that is refused leaves the others as they are. */
export const StoreBatchRequest = Type.Array(StoreRequest, {
  maxItems: LIMITS.batchItems,
  description: `The memories to store, at most ${LIMITS.batchItems}.`,
  'x-must': `be an array of at most ${LIMITS.batchItems} memories to store`,
});
export type StoreBatchRequest = Type.Static<typeof StoreBatchRequest>;

/** What became of one memory of a batch: stored, or why it was not. */
export const StoreBatchResult = Type.Union([StoreResponse, Type.Object({ error: ErrorBody })]);
export type StoreBatchResult = Type.Static<typeof StoreBatchResult>;

export const StoreBatchResponse = Type.Object({
  results: Type.Array(StoreBatchResult, {
    description:
      'One for each memory, in the order of the request. Paths in `details` begin with its place, counted from 0.',
  }),
  stored_count: Count,
  failed_count: Count,
});
export type StoreBatchResponse = Type.Static<typeof StoreBatchResponse>;
