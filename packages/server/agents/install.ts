import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getInstalledFolder, installFromNpm } from '../conformance/install-packages.ts';

const versionsFile = fileURLToPath(new URL('installed/package.json', import.meta.url));

/** Packages whose install script puts the program of this platform in its place. */
const WITH_INSTALL_SCRIPT = ['@anthropic-ai/claude-code', 'opencode-ai'];

/** Whether the tests can see the processes of the programs. Without this, they are skipped. */
export const CAN_SEE_PROCESSES = existsSync('/proc/self/environ');

/**
 * Installs the agent programs in the versions of `installed/package.json`, unless they are installed. Vitest calls it
 * once before all test files. `npx vitest run --project '!agents'` leaves these tests out.
 */
export async function setup(): Promise<void> {
  if (CAN_SEE_PROCESSES) await installFromNpm(versionsFile, WITH_INSTALL_SCRIPT);
}

/** Returns the path of an installed program. */
export function getProgramPath(name: string): string {
  return join(getInstalledFolder(versionsFile), 'node_modules/.bin', name);
}
