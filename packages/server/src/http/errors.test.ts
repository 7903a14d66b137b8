import { ERRORS, type ErrorCode, MemoryError } from '@memoryd/contract';
import type { TelemetryEvent } from '@memoryd/engine';
import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { errorHandler } from './errors.ts';

async function respondTo(thrown: unknown) {
  const reported: TelemetryEvent[] = [];
  const app = Fastify({ genReqId: () => 'request-1' });
  app.setErrorHandler(errorHandler({ report: (event) => reported.push(event) }));
  app.get('/', () => Promise.reject(thrown));
  const response = await app.inject('/');
  return { response, error: response.json().error, reported };
}

describe('error responses', () => {
  it.each(Object.keys(ERRORS) as ErrorCode[])('error responses have the status and shape of %s', async (code) => {
    const { response, error } = await respondTo(new MemoryError(code, 'because'));
    expect(response.statusCode).toBe(ERRORS[code].status);
    expect(error).toMatchObject({ code, request_id: 'request-1' });
  });

  it('error responses contain the details of the error', async () => {
    const details = [{ path: '/tags', message: 'tags must be an array' }];
    expect((await respondTo(new MemoryError('INVALID_REQUEST', 'wrong', { details }))).error.details).toEqual(details);
  });

  it('error responses hide an unexpected error, which is logged with the request id', async () => {
    const defect = new Error('SELECT secret');
    const { response, reported } = await respondTo(defect);
    expect(response.statusCode).toBe(500);
    expect(response.body).not.toContain('SELECT');
    expect(reported).toMatchObject([{ level: 'error', facts: { request_id: 'request-1' }, error: defect }]);
  });

  it('error responses are not logged for client errors', async () => {
    expect((await respondTo(new MemoryError('NOT_FOUND', 'no'))).reported).toEqual([]);
  });

  it.each(['UNAVAILABLE', 'RATE_LIMITED'] as const)(
    'error responses for %s have a Retry-After header',
    async (code) => {
      expect((await respondTo(new MemoryError(code, 'later'))).response.headers['retry-after']).toBe('1');
    },
  );

  it('error responses have no Retry-After header if the request may already have been executed', async () => {
    const { response } = await respondTo(new MemoryError('UNAVAILABLE', 'who knows', { isOutcomeUnknown: true }));
    expect([response.statusCode, response.headers['retry-after']]).toEqual([503, undefined]);
  });
});
