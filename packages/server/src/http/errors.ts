import { ERRORS, type ErrorCode, type ErrorResponse, MemoryError } from '@memoryd/contract';
import type { Telemetry } from '@memoryd/engine';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { getVariable } from '../settings/names.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The setting that limits the body of the route's requests; `maxBodyBytes` if absent. */
    bodySetting?: 'maxBatchBodyBytes';
  }
}

/** Seconds after which a request that could not be served is worth another try. */
export const RETRY_AFTER_SECONDS = 1;

/**
 * The error that a caller may see of whatever was thrown. What is not a MemoryError and not the framework's word on a
 * bad request is a defect: INTERNAL_ERROR, without its message.
 */
function toMemoryError(thrown: unknown, { routeOptions }: FastifyRequest): MemoryError {
  if (thrown instanceof MemoryError && thrown.code !== 'INTERNAL_ERROR') return thrown;
  const { statusCode = 500, code = '' } = thrown as Partial<FastifyError>;
  if (statusCode === ERRORS.PAYLOAD_TOO_LARGE.status) {
    const { bodyLimit, config } = routeOptions;
    const setting = getVariable(config?.bodySetting ?? 'maxBodyBytes');
    const message = `the request body is too large: it may have ${bodyLimit} bytes; ${setting} sets this limit`;
    return new MemoryError('PAYLOAD_TOO_LARGE', message, { cause: thrown });
  }
  if (statusCode >= 400 && statusCode < 500) {
    return new MemoryError('INVALID_REQUEST', FRAMEWORK_MESSAGES[code] ?? 'malformed request', { cause: thrown });
  }
  return new MemoryError('INTERNAL_ERROR', 'server error; the request id finds the log record', { cause: thrown });
}

const FRAMEWORK_MESSAGES: Record<string, string> = {
  FST_ERR_BAD_URL: 'the URL must be percent-encoded UTF-8',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'the body must be as long as Content-Length says',
};

/** The body of an error response. */
export function errorBody(error: MemoryError, requestId: string): ErrorResponse {
  return { error: { ...error.body, request_id: requestId } };
}

/** To be told of every error that is answered. */
export type CountError = (code: ErrorCode) => void;

/** The route's answer to whatever was thrown; a server error is reported with its request id. */
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
          // Why the service could not serve is a sentence; only a defect needs a stack.
          ...(error.code !== 'INTERNAL_ERROR' && { message: error.message }),
        },
        ...(error.code === 'INTERNAL_ERROR' && { error: error.cause }),
      });
    }
    // The framework closes the connection under a client that is still sending a large body, and that client would
    // then never read the answer. Node throws the rest of the body away by itself, for as long as a request may take.
    if (error.code === 'PAYLOAD_TOO_LARGE')
      reply.header('connection', reply.raw.shouldKeepAlive ? 'keep-alive' : 'close');
    addHeaders(reply, error);
    return reply.code(status).send(errorBody(error, request.id));
  };
}

function addHeaders(reply: FastifyReply, { code, mayBeDone }: MemoryError): void {
  if (code === 'UNAUTHORIZED') reply.header('WWW-Authenticate', 'Bearer');
  // Clients take it for leave to ask again, whatever they asked for.
  if (mayBeDone) return;
  // Where a rate is limited, it has been said when to come back.
  if ((code === 'UNAVAILABLE' || code === 'RATE_LIMITED') && !reply.hasHeader('Retry-After')) {
    reply.header('Retry-After', RETRY_AFTER_SECONDS);
  }
}
