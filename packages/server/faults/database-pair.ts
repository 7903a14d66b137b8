import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';

const script = fileURLToPath(new URL('../../../scripts/postgres-for-tests', import.meta.url));
const run = promisify(execFile);

/** A PostgreSQL primary and its replica, used by the calling test only. */
export interface DatabasePair {
  primaryUrl: string;
  replicaUrl: string;
  /** Stops a server abruptly, as a power failure would. */
  crash(which: 'primary' | 'replica'): Promise<void>;
  restart(which: 'primary' | 'replica'): Promise<void>;
  /** Promotes the replica to a primary. */
  promote(): Promise<void>;
}

/** Starts a primary and a replica, and stops both when the test finishes. */
export async function startPair(): Promise<DatabasePair> {
  const name = `faults-${process.pid}`;
  const { stdout } = await run(script, ['start', name]);
  onTestFinished(async () => void (await run(script, ['stop', name])));
  const getAddress = (variable: string) => new RegExp(`^${variable}=(.*)$`, 'm').exec(stdout)?.[1] ?? '';
  return {
    primaryUrl: getAddress('TEST_DATABASE_URL'),
    replicaUrl: getAddress('TEST_DATABASE_READ_URL'),
    crash: async (which) => void (await run(script, ['crash', name, which])),
    restart: async (which) => void (await run(script, ['restart', name, which])),
    promote: async () => void (await run(script, ['promote', name])),
  };
}
