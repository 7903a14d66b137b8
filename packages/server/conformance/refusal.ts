import type { ErrorResponse } from '@memoryd/contract';
import { expect } from 'vitest';
import type { Answer } from './http.ts';

/** Every error code and its HTTP status. */
export const STATUS = {
  INVALID_REQUEST: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  CONFLICT: 409,
  PRECONDITION_FAILED: 412,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  UNAVAILABLE: 503,
} as const;

/** The expected error of a request. */
export interface ExpectedError {
  /** INVALID_REQUEST if absent. */
  code?: keyof typeof STATUS;
  /** The field that the message must name and that the JSON pointer of a detail must lead to. */
  field?: string;
}

/** Internals that no error may expose: stack frames, source files, SQL. */
const INTERNALS = /\n\s+at |node_modules|\.js:\d+|\.ts:\d+|SQLITE|SqliteError|\bSELECT\b|\bINSERT\b/;

/** Asserts that a response is this error and has the shape of all errors. */
export function expectError(answer: Answer, { code = 'INVALID_REQUEST', field }: ExpectedError = {}): void {
  expect(answer.status, answer.text.slice(0, 400)).toBe(STATUS[code]);
  expect(answer.headers['content-type']).toMatch(/^application\/json\b/);
  const { error, ...rest } = answer.body as ErrorResponse;
  expect(rest, 'an error response has only the field "error"').toEqual({});
  expect(error.code).toBe(code);
  expect(error.message).toMatch(/\S/);
  expect(error.request_id).toMatch(/\S/);
  expect(error.request_id).toBe(answer.headers['x-request-id']);
  expect(answer.text).not.toMatch(INTERNALS);
  for (const detail of error.details ?? []) {
    expect(Object.keys(detail).sort()).toEqual(['message', 'path']);
    expect(detail.path).toMatch(/^(\/.*)?$/s);
    expect(detail.message).toMatch(/\S/);
  }
  if (field === undefined) return;
  expect(error.message).toContain(field);
  const pointer = `/${field.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  const paths = (error.details ?? []).map((detail) => detail.path);
  expect(
    paths.some((path) => path === pointer || path.startsWith(`${pointer}/`)),
    `details point to ${JSON.stringify(paths)}, none to ${pointer}`,
  ).toBe(true);
}
