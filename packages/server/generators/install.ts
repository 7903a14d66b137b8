import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getInstalledFolder, installFromNpm, installFromPypi } from '../conformance/install-packages.ts';

const getVersionsFile = (name: string) => fileURLToPath(new URL(`installed/${name}`, import.meta.url));
const NPM = getVersionsFile('package.json');
const PYPI = getVersionsFile('requirements.txt');

/** The folder with the generators from npm, and with the packages that their clients import. */
export const NODE_MODULES = join(getInstalledFolder(NPM), 'node_modules');
/** Folders of the commands, for `PATH`. */
export const COMMAND_FOLDERS = [join(NODE_MODULES, '.bin'), join(getInstalledFolder(PYPI), 'bin')];

/**
 * Installs the generators in the versions of `installed`, unless they are installed. Vitest calls it once before all test
 * files. `npx vitest run --project '!generators'` leaves these tests out.
 */
export async function setup(): Promise<void> {
  await Promise.all([installFromNpm(NPM), installFromPypi(PYPI)]);
}
