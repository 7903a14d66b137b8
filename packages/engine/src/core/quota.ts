import { MemoryError } from '@memoryd/contract';
import type { OverQuota } from '../ports/storage-namespaces.ts';

/** FORBIDDEN, naming the quota and what makes room. */
export function quotaExceeded({ of, most }: OverQuota): MemoryError {
  const quota = of === 'memories' ? `${most} memories` : `${most} bytes of text`;
  return new MemoryError(
    'FORBIDDEN',
    `the quota of the namespace, ${quota}, leaves no room for this: forget memories, or have an operator raise it ` +
      `(memoryd namespaces quota NAME --${of} N)`,
  );
}
