import { StoreBatchRequest, StoreBatchResponse, StoreRequest } from '@memoryd/contract';
import { answers } from '../answers.ts';
import { NDJSON_TYPES, readBatchBodies } from '../batch-body.ts';
import { StoreHeaders, storeOptionsOf } from '../request-headers.ts';
import { NoQuery } from './parameters.ts';
import type { App, Route } from './route.ts';

const lines = { schema: { ...StoreRequest, description: 'One memory a line.' } };

const config = { access: 'write', heavy: 'batch' } as const;

export const storeBatch: Route = (app, { apiOf, settings }) => {
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
    readBatchBodies(scope, settings.maxBodyBytes);
    scope.post('/store/batch', { schema, config, bodyLimit: settings.maxBatchBodyBytes }, (request) =>
      apiOf(request).storeBatch(request.body as StoreBatchRequest, storeOptionsOf(request)),
    );
  });
};
