import { isLoopbackHost } from '../http/access.ts';

/** Returns whether a URL is one of this machine's loopback addresses. */
export function isOwnMachine(url: string): boolean {
  return isLoopbackHost(new URL(url).hostname);
}
