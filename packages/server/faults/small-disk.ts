import { spawnSync } from 'node:child_process';
import { temporaryFolder } from '../conformance/process.ts';

/** A disk of its own, in a folder. */
export interface SmallDisk {
  folder: string;
  remove(): void;
}

/** A disk of so many bytes; undefined, and the reason is printed, where this user may not make one. */
export function smallDisk(bytes: number): SmallDisk | undefined {
  const folder = temporaryFolder();
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder]);
  if (mounted.status === 0) return { folder, remove: () => void spawnSync('umount', ['-l', folder]) };
  // biome-ignore lint/suspicious/noConsole: who runs the tests learns what was left out, and why
  console.log(
    `left out, since no small disk can be made: ${mounted.error?.message ?? mounted.stderr.toString().trim()}`,
  );
  return undefined;
}
