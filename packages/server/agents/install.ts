import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);

const folder = fileURLToPath(new URL('installed', import.meta.url));
const versionsFile = join(folder, 'package.json');
/** A copy of the file with the versions, written when all of them are installed. */
const installedFile = join(folder, 'node_modules/.installed.json');

/** Packages whose install script puts the program of this platform in its place. */
const WITH_INSTALL_SCRIPT = ['@anthropic-ai/claude-code', 'opencode-ai'];

/** Whether the tests can see the processes of the programs. Without this, they are skipped. */
export const CAN_SEE_PROCESSES = existsSync('/proc/self/environ');

/**
 * Installs the agent programs in the versions of `installed/package.json`, unless they are installed. Vitest calls it
 * once before all test files.
 *
 * @throws with the output of npm as its cause, for example without a network
 */
export async function setup(): Promise<void> {
  if (!CAN_SEE_PROCESSES) return;
  const versions = readFileSync(versionsFile, 'utf8');
  if (existsSync(installedFile) && readFileSync(installedFile, 'utf8') === versions) return;
  await runNpm('install', '--no-audit', '--no-fund', '--prefer-offline');
  await runNpm('rebuild', '--ignore-scripts=false', ...WITH_INSTALL_SCRIPT);
  writeFileSync(installedFile, versions);
}

/** Returns the path of an installed program. */
export function getProgramPath(name: string): string {
  return join(folder, 'node_modules/.bin', name);
}

async function runNpm(...args: string[]): Promise<void> {
  try {
    await execute('npm', args, { cwd: folder });
  } catch (error) {
    throw new Error(
      `npm could not install the agent programs of ${versionsFile}; check that its registry has these ` +
        `versions, or leave these tests out with npx vitest run --project '!agents'`,
      { cause: error },
    );
  }
}
