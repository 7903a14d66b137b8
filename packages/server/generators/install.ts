import { execFile } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);

const folder = fileURLToPath(new URL('installed', import.meta.url));
const environment = join(folder, '.venv');

/** The folder with the generators from npm, and with the packages that their clients import. */
export const NODE_MODULES = join(folder, 'node_modules');
/** Folders of the commands, for `PATH`. */
export const COMMAND_FOLDERS = [join(NODE_MODULES, '.bin'), join(environment, 'bin')];

/**
 * Installs the generators in the versions of `installed`, unless they are installed. Vitest calls it once before all test
 * files.
 *
 * @throws with the output of npm or pip as its cause, for example without a network
 */
export async function setup(): Promise<void> {
  await Promise.all([
    install('package.json', NODE_MODULES, async () => {
      await execute('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: folder });
    }),
    install('requirements.txt', environment, async (requirements) => {
      await execute('python3', ['-m', 'venv', environment]);
      const pip = join(environment, 'bin/pip');
      await execute(pip, ['install', '--quiet', '--disable-pip-version-check', '--requirement', requirements]);
    }),
  ]);
}

/** Installs the versions of a file, unless the target has a copy of this file from an earlier installation. */
async function install(name: string, target: string, run: (versionsFile: string) => Promise<void>): Promise<void> {
  const versionsFile = join(folder, name);
  const installedFile = join(target, `.installed-${name}`);
  const versions = readFileSync(versionsFile, 'utf8');
  if (existsSync(installedFile) && readFileSync(installedFile, 'utf8') === versions) return;
  rmSync(target, { recursive: true, force: true });
  try {
    await run(versionsFile);
  } catch (error) {
    throw new Error(
      `the generators of ${versionsFile} cannot be installed; check that the registry has these versions, ` +
        `or leave these tests out with npx vitest run --project '!generators'`,
      { cause: error },
    );
  }
  writeFileSync(installedFile, versions);
}
