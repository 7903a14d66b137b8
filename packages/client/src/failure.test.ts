import { describe, expect, it } from 'vitest';
import { isOutage, isRequestError } from './failure.ts';
import { CODE_BY_STATUS, MemoryError } from './memory-error.ts';

describe('an error', () => {
  const requestId = 'request-1';

  it.each<[number, 'request' | 'outage' | 'other']>([
    [400, 'request'],
    [401, 'outage'],
    [403, 'request'],
    [404, 'request'],
    [405, 'other'],
    [409, 'request'],
    [412, 'request'],
    [413, 'request'],
    [429, 'outage'],
    [500, 'other'],
    [502, 'outage'],
    [503, 'outage'],
    [504, 'outage'],
  ])('an error of memoryd with status %d has the cause: %s', (status, cause) => {
    const error = new MemoryError(CODE_BY_STATUS[status] ?? 'INTERNAL_ERROR', 'failed', { status, requestId });
    expect([isRequestError(error), isOutage(error)]).toEqual([cause === 'request', cause === 'outage']);
  });

  it('an error is not caused by the request if a proxy sent the response', () => {
    for (const status of [400, 403, 404, 413]) {
      const code = CODE_BY_STATUS[status] ?? 'INTERNAL_ERROR';
      expect(isRequestError(new MemoryError(code, 'not a memoryd error', { status }))).toBe(false);
    }
  });

  it('an error is caused by the request if the client or the engine rejects the request before it is sent', () => {
    expect(isRequestError(new MemoryError('INVALID_REQUEST', 'query is required'))).toBe(true);
    expect(isRequestError(new MemoryError('UNAVAILABLE', 'the engine is closed'))).toBe(false);
  });

  it('an error of another class is not caused by the request, and is no outage, whatever its code is', () => {
    const error = Object.assign(new Error('x'), { code: 'INVALID_REQUEST' });
    expect([isRequestError(error), isOutage(error), isRequestError(undefined)]).toEqual([false, false, false]);
  });
});
