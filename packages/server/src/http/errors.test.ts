import { ERRORS, type ErrorCode, MemoryError } from '@memoryd/contract';
import type { TelemetryEvent } from '@memoryd/engine';
import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { errorHandler } from './errors.ts';

async function answerTo(thrown: unknown) {
  const reported: TelemetryEvent[] = [];
  const app = Fastify({ genReqId: () => 'request-1' });
  app.setErrorHandler(errorHandler({ report: (event) => reported.push(event) }));
  app.get('/', () => Promise.reject(thrown));
  const answer = await app.inject('/');
  return { answer, error: answer.json().error, reported };
}

describe('an error', () => {
  it.each(Object.keys(ERRORS) as ErrorCode[])('%s is answered with its status and shape', async (code) => {
    const { answer, error } = await answerTo(new MemoryError(code, 'because'));
    expect(answer.statusCode).toBe(ERRORS[code].status);
    expect(error).toMatchObject({ code, request_id: 'request-1' });
  });

  it('carries its details', async () => {
    const details = [{ path: '/tags', message: 'tags must be an array' }];
    expect((await answerTo(new MemoryError('INVALID_REQUEST', 'wrong', { details }))).error.details).toEqual(details);
  });

  it('that nobody expected shows nothing of itself, and the log finds it by its request id', async () => {
    const defect = new Error('SELECT secret');
    const { answer, reported } = await answerTo(defect);
    expect(answer.statusCode).toBe(500);
    expect(answer.body).not.toContain('SELECT');
    expect(reported).toMatchObject([{ level: 'error', facts: { request_id: 'request-1' }, error: defect }]);
  });

  it('of a caller is not logged', async () => {
    expect((await answerTo(new MemoryError('NOT_FOUND', 'no'))).reported).toEqual([]);
  });

  it.each(['UNAVAILABLE', 'RATE_LIMITED'] as const)('%s says when to try again', async (code) => {
    expect((await answerTo(new MemoryError(code, 'later'))).answer.headers['retry-after']).toBe('1');
  });

  it('after which nobody knows what was done does not ask to try again', async () => {
    const { answer } = await answerTo(new MemoryError('UNAVAILABLE', 'who knows', { mayBeDone: true }));
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, undefined]);
  });
});
