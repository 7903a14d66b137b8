import type { MemoryClient } from '@memoryd/client';
import { MemoryError } from '@memoryd/contract/errors';

/** What to do about a service that sends no answer. */
export const NO_ANSWER_ADVICE =
  'start it with `memoryd serve`, restart it if it runs, or check the address (--url, SERVICE_URL or the settings file)';

/**
 * Works with a service, and returns the result of `work`.
 *
 * @throws MemoryError UNAVAILABLE that names the address and what to do, if no answer came; else what `work` rejects with
 */
export async function withAdvice<T>(service: MemoryClient, work: (service: MemoryClient) => Promise<T>): Promise<T> {
  try {
    return await work(service);
  } catch (cause) {
    const client = await import('@memoryd/client');
    if (!(cause instanceof client.MemoryError && cause.isUnanswered)) throw cause;
    throw new MemoryError('UNAVAILABLE', `cannot reach the service: ${cause.message}; ${NO_ANSWER_ADVICE}`, { cause });
  }
}
