import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { UsageError } from '../usage-error.ts';
import { removeEmptyFolders } from './edit/files.ts';
import { getOwnFiles } from './machine.ts';
import type { Machine } from './types.ts';

/** Time to wait for another process, in ms, longer than a connect without questions takes. */
const MAX_WAIT_MS = 10_000;
const ATTEMPT_INTERVAL_MS = 50;

/**
 * Runs an action while no other process changes the connections of this user, because each one reads and writes the same
 * record. A lock of a process that has ended is ignored.
 *
 * @throws UsageError if another process does not end in time
 */
export async function withLock<Result>(machine: Machine, action: () => Promise<Result>): Promise<Result> {
  const { config } = machine.folders;
  const { lock } = getOwnFiles(machine);
  const deadline = Date.now() + MAX_WAIT_MS;
  let created: string | undefined;
  for (;;) {
    created = mkdirSync(config, { recursive: true }) ?? created;
    const owner = takeLock(lock);
    if (owner === undefined) break;
    if (!isRunning(owner)) rmSync(lock, { force: true });
    else if (Date.now() < deadline) await delay(ATTEMPT_INTERVAL_MS);
    else {
      throw new UsageError(`another memoryd connect is at work; wait until it ends, or delete ${lock} if none runs`);
    }
  }
  try {
    return await action();
  } finally {
    rmSync(lock, { force: true });
    removeEmptyFolders(config, created ?? config);
  }
}

/** Creates the lock, or returns the id of the process that has it. */
function takeLock(path: string): number | undefined {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' });
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // ENOENT: the process with the lock has just removed the empty folder.
    if (code !== 'EEXIST' && code !== 'ENOENT') {
      throw new UsageError(`${path} cannot be written (${code}); check the permissions of its folder`);
    }
    return readOwner(path);
  }
}

/** Returns the id of the process with the lock; that of this process, which runs, if the file is empty or gone. */
function readOwner(path: string): number {
  try {
    return Number(readFileSync(path, 'utf8')) || process.pid;
  } catch {
    return process.pid;
  }
}

function isRunning(id: number): boolean {
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    // EPERM: the process belongs to somebody else.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
