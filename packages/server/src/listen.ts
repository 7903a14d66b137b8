import { getMessage } from './message-of.ts';
import type { Settings } from './settings/read.ts';

/** Listens where the settings say; what keeps it from that is one sentence, with the fix. */
export async function listenOn<T>(
  listen: (at: { host: string; port: number }) => Promise<T>,
  { host, port }: Pick<Settings, 'host' | 'port'>,
): Promise<T> {
  try {
    return await listen({ host, port });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EADDRINUSE') {
      throw new Error(`port ${port} is taken; use --port`, { cause });
    }
    throw new Error(`cannot listen on ${host} port ${port}: ${getMessage(cause)}`, { cause });
  }
}
