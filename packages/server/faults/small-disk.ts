import { spawnSync } from 'node:child_process';
import { createTemporaryFolder } from '../conformance/process.ts';

/** A mounted file system of limited size. */
export interface SmallDisk {
  folder: string;
  remove(): void;
}

/** Mounts a tmpfs of `bytes` bytes. Prints the reason and returns `undefined` if this user may not mount. */
export function mountSmallDisk(bytes: number): SmallDisk | undefined {
  const folder = createTemporaryFolder();
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder]);
  if (mounted.status === 0) return { folder, remove: () => void spawnSync('umount', ['-l', folder]) };
  // biome-ignore lint/suspicious/noConsole: prints why tests were skipped
  console.log(
    `skipped, because no small disk can be mounted: ${mounted.error?.message ?? mounted.stderr.toString().trim()}`,
  );
  return undefined;
}
