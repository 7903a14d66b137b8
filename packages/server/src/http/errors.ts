import { ERRORS, type ErrorCode, type ErrorResponse, MemoryError } from '@memoryd/contract';
import type { Telemetry } from '@memoryd/engine';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { getVariable } from '../settings/names.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The setting that limits the body of the route's requests; `maxBodyBytes` if absent, `none` for a fixed limit. */
    bodySetting?: BodySetting | 'none';
  }
}

/** A setting that limits request bodies. */
type BodySetting = 'maxBodyBytes' | 'maxBatchBodyBytes';

/** Seconds after which a client should retry a request that could not be served. */
export const RETRY_AFTER_SECONDS = 1;

/**
 * Converts a thrown value to an error that callers may see. Any value other than a MemoryError or a client error of the
 * framework becomes INTERNAL_ERROR without its message, as does a MemoryError with the code INTERNAL_ERROR.
 */
function toMemoryError(thrown: unknown, { routeOptions }: FastifyRequest): MemoryError {
  if (thrown instanceof MemoryError && thrown.code !== 'INTERNAL_ERROR') return thrown;
  const { statusCode = 500, code = '' } = thrown as Partial<FastifyError>;
  if (statusCode === ERRORS.PAYLOAD_TOO_LARGE.status) {
    const { bodyLimit, config } = routeOptions;
    const { bodySetting = 'maxBodyBytes' } = config ?? {};
    const fix = bodySetting === 'none' ? 'shorten it' : `raise the limit with ${getVariable(bodySetting)}`;
    const message = `the request body must be at most ${bodyLimit} bytes; ${fix}`;
    return new MemoryError('PAYLOAD_TOO_LARGE', message, { cause: thrown });
  }
  if (statusCode >= 400 && statusCode < 500) {
    return new MemoryError('INVALID_REQUEST', FRAMEWORK_MESSAGES[code] ?? 'malformed request', { cause: thrown });
  }
  return new MemoryError('INTERNAL_ERROR', 'server error; the log record has the same request id', { cause: thrown });
}

const FRAMEWORK_MESSAGES: Record<string, string> = {
  FST_ERR_BAD_URL: 'the URL must be percent-encoded UTF-8',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'the body length must match Content-Length',
};

export function errorBody(error: MemoryError, requestId: string): ErrorResponse {
  return { error: { ...error.body, request_id: requestId } };
}

/** Called with the code of every error response. */
export type CountError = (code: ErrorCode) => void;

/** Returns the error handler of all routes. Server errors are reported with the request id. */
export function errorHandler(telemetry: Telemetry, countError: CountError = () => {}) {
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const error = toMemoryError(thrown, request);
    const { status } = ERRORS[error.code];
    countError(error.code);
    if (status >= 500) {
      telemetry.report({
        level: error.code === 'INTERNAL_ERROR' ? 'error' : 'warn',
        component: 'http',
        event: 'request_failed',
        facts: {
          request_id: request.id,
          method: request.method,
          route: request.routeOptions.url ?? null,
          status,
          // For UNAVAILABLE, the message is enough; only an internal error needs a stack trace.
          ...(error.code !== 'INTERNAL_ERROR' && { message: error.message }),
        },
        ...(error.code === 'INTERNAL_ERROR' && { error: error.cause }),
      });
    }
    // The framework would close the connection while the client still sends a large body, so that the client never
    // reads the response. Node discards the rest of the body itself, until the request timeout.
    if (error.code === 'PAYLOAD_TOO_LARGE')
      reply.header('connection', reply.raw.shouldKeepAlive ? 'keep-alive' : 'close');
    addHeaders(reply, error);
    return reply.code(status).send(errorBody(error, request.id));
  };
}

function addHeaders(reply: FastifyReply, { code, isOutcomeUnknown }: MemoryError): void {
  if (code === 'UNAUTHORIZED') reply.header('WWW-Authenticate', 'Bearer');
  // Clients treat Retry-After as permission to send the request again, even a request that must not run twice.
  if (isOutcomeUnknown) return;
  // The rate limiter has already set its own Retry-After.
  if ((code === 'UNAVAILABLE' || code === 'RATE_LIMITED') && !reply.hasHeader('Retry-After')) {
    reply.header('Retry-After', RETRY_AFTER_SECONDS);
  }
}
