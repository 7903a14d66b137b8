import {
  LIMITS,
  MemoryError,
  SimilarRequest,
  StoreBatchRequest,
  StoreBatchResponse,
  type StoreBatchResult,
  type StoreRequest,
} from '@memoryd/contract';
import { getVariable } from '../../settings/names.ts';
import { readBatchBodies } from '../batch-body.ts';
import { createListContent } from '../lines-body.ts';
import { readStoreOptions, StoreHeaders } from '../request-headers.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import type { App, Route } from './route.ts';

const config = { access: 'write', heavy: 'batch', bodySetting: 'maxBatchBodyBytes' } as const;

export const storeBatch: Route = (app, { getApi, settings }) => {
  const schema = {
    operationId: 'storeMemories',
    summary: 'Store many memories',
    description:
      'The body is a JSON array, or one memory per line. Each memory is stored or refused independently; the results are ' +
      'in the same order. With an idempotency key, each memory is identified by that key and its position, so the batch ' +
      `can be sent again. With \`similar\`, at most ${LIMITS.similarBatchItems.toLocaleString('en')} memories.`,
    tags: ['memories'],
    headers: StoreHeaders,
    querystring: SimilarRequest,
    body: { content: createListContent(StoreBatchRequest, 'StoreRequest') },
    response: createResponseSchemas(StoreBatchResponse),
  };
  // A separate Fastify scope, because its bodies have their own parser.
  app.register(async (scope: App) => {
    readBatchBodies(scope);
    scope.post('/store/batch', { schema, config, bodyLimit: settings.maxBatchBodyBytes }, async (request) => {
      const items = request.body as StoreBatchRequest;
      const tooLarge = findTooLargeItems(items, settings.maxBodyBytes);
      const options = { ...readStoreOptions(request), ...request.query };
      const stored = await getApi(request).storeBatch(clearItems(items, tooLarge), options);
      return { ...stored, results: stored.results.map((result, index) => tooLarge.get(index) ?? result) };
    });
  });
};

/** Returns the errors of items whose text is larger than a single store request allows, by index. */
function findTooLargeItems(body: unknown, maxBytes: number): Map<number, StoreBatchResult> {
  const message = `content must be at most ${maxBytes} bytes; raise the limit with ${getVariable('maxBodyBytes')}`;
  const errors = new Map<number, StoreBatchResult>();
  // The body has not been validated yet.
  for (const [index, item] of Array.isArray(body) ? body.entries() : []) {
    const content: unknown = (item as Partial<StoreRequest> | null | undefined)?.content;
    if (typeof content !== 'string' || Buffer.byteLength(content) <= maxBytes) continue;
    const details = [{ path: `/${index}/content`, message }];
    errors.set(index, { error: new MemoryError('PAYLOAD_TOO_LARGE', message, { details }).body });
  }
  return errors;
}

/**
 * Replaces the items at some indexes by `undefined`, which validation refuses. The other items stay at their indexes,
 * which are part of their idempotency keys.
 */
function clearItems(items: StoreBatchRequest, indexes: ReadonlyMap<number, unknown>): StoreBatchRequest {
  if (indexes.size === 0) return items;
  return items.map((item, index) => (indexes.has(index) ? undefined : item)) as StoreBatchRequest;
}
