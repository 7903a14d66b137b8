import {
  MemoryError,
  StoreBatchRequest,
  StoreBatchResponse,
  type StoreBatchResult,
  StoreRequest,
} from '@memoryd/contract';
import { answers } from '../answers.ts';
import { NDJSON_TYPES, readBatchBodies } from '../batch-body.ts';
import { readStoreOptions, StoreHeaders } from '../request-headers.ts';
import { NoQuery } from './parameters.ts';
import type { App, Route } from './route.ts';

const lines = { schema: { ...StoreRequest, description: 'One memory a line.' } };

const config = { access: 'write', heavy: 'batch', bodySetting: 'maxBatchBodyBytes' } as const;

export const storeBatch: Route = (app, { getApi, settings }) => {
  const schema = {
    operationId: 'storeBatch',
    summary: 'Store many memories',
    description:
      'Each memory is stored, or refused, on its own, and answered in order. A JSON array, or one memory a line. With ' +
      'an idempotency key, each memory has that key and its place, so the batch may be sent again.',
    tags: ['memories'],
    headers: StoreHeaders,
    querystring: NoQuery,
    body: {
      content: {
        'application/json': { schema: StoreBatchRequest },
        ...Object.fromEntries(NDJSON_TYPES.map((type) => [type, lines])),
      },
    },
    response: answers(StoreBatchResponse),
  };
  // A scope of its own, for its bodies are read in another way.
  app.register(async (scope: App) => {
    readBatchBodies(scope);
    scope.post('/store/batch', { schema, config, bodyLimit: settings.maxBatchBodyBytes }, async (request) => {
      const items = request.body as StoreBatchRequest;
      const tooLarge = tooLargeIn(items, settings.maxBodyBytes);
      const stored = await getApi(request).storeBatch(without(items, tooLarge), readStoreOptions(request));
      return { ...stored, results: stored.results.map((result, place) => tooLarge.get(place) ?? result) };
    });
  });
};

/** The refusals of texts that a store of their own could not bring, by their places. */
function tooLargeIn(body: unknown, maxBytes: number): Map<number, StoreBatchResult> {
  const message = `content must be at most ${maxBytes} bytes`;
  const refusals = new Map<number, StoreBatchResult>();
  // It has not been checked yet, so it may be anything.
  for (const [place, item] of Array.isArray(body) ? body.entries() : []) {
    const content: unknown = (item as Partial<StoreRequest> | null | undefined)?.content;
    if (typeof content !== 'string' || Buffer.byteLength(content) <= maxBytes) continue;
    const details = [{ path: `/${place}/content`, message }];
    refusals.set(place, { error: new MemoryError('PAYLOAD_TOO_LARGE', message, { details }).body });
  }
  return refusals;
}

/** Every other item at its place, which idempotency keys go by; what is not there is refused. */
function without(items: StoreBatchRequest, places: ReadonlyMap<number, unknown>): StoreBatchRequest {
  if (places.size === 0) return items;
  return items.map((item, place) => (places.has(place) ? undefined : item)) as StoreBatchRequest;
}
