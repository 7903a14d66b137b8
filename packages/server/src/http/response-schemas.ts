import { ERRORS, type ErrorCode, ErrorResponse } from '@memoryd/contract';
import type { TSchema } from '@memoryd/contract/typebox';

/**
 * Errors that every route can return. Even a route without a body can return PAYLOAD_TOO_LARGE and
 * UNSUPPORTED_MEDIA_TYPE, because a request may have too large a URL or header, or a compressed body.
 */
const COMMON_ERRORS: ErrorCode[] = [
  'INVALID_REQUEST',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'RATE_LIMITED',
  'INTERNAL_ERROR',
  'UNAVAILABLE',
];

/**
 * Returns the response schemas of a route for the OpenAPI document and the handler's type: status 200, the common
 * errors, and the errors in `codes`. The schemas are documentation only, and do not filter responses.
 */
export function createResponseSchemas<Success extends TSchema>(
  success: Success,
  ...codes: ErrorCode[]
): { 200: Success } {
  const errors = [...new Set([...COMMON_ERRORS, ...codes])].map((code) => {
    const { status, meaning } = ERRORS[code];
    return [status, { ...ErrorResponse, 'x-response-description': `${code}: ${meaning}` }];
  });
  return { 200: { ...success, 'x-response-description': 'Success.' }, ...Object.fromEntries(errors) };
}
