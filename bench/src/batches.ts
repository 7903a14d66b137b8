import type { StoreBatchResponse, StoreRequest } from '@memoryd/contract';

const MAX_ITEMS = 500;
// Half of the server's default body limit. The other half is a reserve for JSON syntax, escapes and multi-byte
// characters.
const MAX_CHARS = 512 * 1024;

/** Splits store requests, in order, into batches that fit into one HTTP request. */
export function splitIntoBatches(requests: readonly StoreRequest[]): StoreRequest[][] {
  const batches: StoreRequest[][] = [];
  let chars = 0;
  for (const request of requests) {
    const last = batches.at(-1);
    chars += request.content.length;
    if (last && last.length < MAX_ITEMS && chars <= MAX_CHARS) last.push(request);
    else {
      batches.push([request]);
      chars = request.content.length;
    }
  }
  return batches;
}

/** Throws an error with the first reason if a memory of a batch was rejected. */
export function assertAllStored({ results }: StoreBatchResponse): void {
  const errors = results.flatMap((result) => ('error' in result ? [result.error.message] : []));
  if (errors.length === 0) return;
  throw new Error(
    `the service rejected ${errors.length} of ${results.length} memories of a batch; the first error is: ${errors[0]}`,
  );
}
