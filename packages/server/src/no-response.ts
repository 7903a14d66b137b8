import type { MemoryClient } from '@memoryd/client';
import { MemoryError } from '@memoryd/contract/errors';

/** Advice for a service that does not respond. */
export const NO_RESPONSE_ADVICE =
  '`memoryd serve` starts a service, and --url, SERVICE_URL or the settings file sets the address';

/**
 * Calls `work` with a service, and returns its result.
 *
 * @throws MemoryError UNAVAILABLE with the address and the fix if the service did not respond; otherwise the error of
 *   `work`
 */
export async function withAdvice<T>(service: MemoryClient, work: (service: MemoryClient) => Promise<T>): Promise<T> {
  try {
    return await work(service);
  } catch (cause) {
    const client = await import('@memoryd/client');
    if (!(cause instanceof client.MemoryError && cause.isUnanswered)) throw cause;
    throw new MemoryError('UNAVAILABLE', `cannot reach the service: ${cause.message}; ${NO_RESPONSE_ADVICE}`, {
      cause,
    });
  }
}
