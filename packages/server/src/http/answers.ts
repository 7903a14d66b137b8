import { ERRORS, type ErrorCode, ErrorResponse } from '@memoryd/contract';
import type { TSchema } from '@memoryd/contract/typebox';

/** Errors that every route can answer with. Any request is too large when its URL, its headers or a body are, and may have a body. */
const COMMON: ErrorCode[] = [
  'INVALID_REQUEST',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'RATE_LIMITED',
  'INTERNAL_ERROR',
  'UNAVAILABLE',
];

/** The name under which the OpenAPI document keeps the schema of every error. */
export const ERROR_SCHEMA = { ...ErrorResponse, $id: 'ErrorResponse' };

/**
 * The responses of a route for the OpenAPI document and the handler's type: status 200 with its schema, and the
 * errors that the route adds to those that every route has. They describe; no answer is filtered by them.
 */
export function answers<Success extends TSchema>(success: Success, ...codes: ErrorCode[]): { 200: Success } {
  const errors = [...new Set([...COMMON, ...codes])].map((code) => {
    const { status, meaning } = ERRORS[code];
    return [status, { $ref: `${ERROR_SCHEMA.$id}#`, description: `${code}: ${meaning}` }];
  });
  return { 200: { ...success, 'x-response-description': 'Success.' }, ...Object.fromEntries(errors) };
}
