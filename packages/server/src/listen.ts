import { getMessage } from './error-text.ts';
import type { Settings } from './settings/read.ts';

/**
 * Listens on the host and port of the settings.
 *
 * @throws Error with a one-sentence message that names the port and the fix, and the host unless the port is in use
 */
export async function listenOn<T>(
  listen: (at: { host: string; port: number }) => Promise<T>,
  { host, port }: Pick<Settings, 'host' | 'port'>,
): Promise<T> {
  try {
    return await listen({ host, port });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EADDRINUSE') {
      throw new Error(`port ${port} is already in use; choose another with --port`, { cause });
    }
    throw new Error(
      `cannot listen on ${host} port ${port}: ${getMessage(cause)}; choose another address with --host or --port`,
      { cause },
    );
  }
}
