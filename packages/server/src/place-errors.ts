import { MemoryError } from '@memoryd/contract/errors';

/** Advice for a service that does not respond. */
export const NO_RESPONSE_ADVICE =
  '`memoryd serve` starts a service, and --url, SERVICE_URL or the settings file sets the address';

/**
 * Runs work that calls a service, and returns its result.
 *
 * @throws MemoryError UNAVAILABLE with the address and the fix if the service did not respond; otherwise the error of
 *   `work`, with the address of the service (see `withPlace`)
 */
export async function atService<T>(url: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const client = await import('@memoryd/client');
    if (!(cause instanceof client.MemoryError && cause.isUnanswered)) throw withPlace(url, cause);
    throw new MemoryError('UNAVAILABLE', `cannot reach the service: ${cause.message}; ${NO_RESPONSE_ADVICE}`, {
      cause,
    });
  }
}

/**
 * Returns a copy of a MemoryError with the name of the database, or the address of the service, in its message. Returns
 * an error whose message already has the name, an error that concerns only the request, and any other value unchanged.
 */
export function withPlace(place: string, error: unknown): unknown {
  // Compared by name because the client package has its own MemoryError class.
  const { name, code, message } = error as MemoryError;
  if (name !== 'MemoryError' || code === 'INVALID_REQUEST' || message.includes(place)) return error;
  return new MemoryError(code, `${place}: ${message}`, { cause: error });
}
