import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../../peers/', import.meta.url));
const requireFrom = createRequire(join(folder, 'package.json'));

/**
 * Installs the peers' packages, in a folder of their own, unless they are there as the lock file wants them.
 *
 * @throws when npm fails
 */
export function installPackages(): void {
  if (isInstalled()) return;
  process.stderr.write(`installing what memoryd is measured beside, in ${folder}\n`);
  const { status, error } = spawnSync('npm', ['ci', '--prefix', folder, '--no-audit', '--no-fund'], {
    // Standard output is for figures.
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (status !== 0) throw new Error('npm ci failed', { cause: error });
}

/** npm notes what it installed in a lock file of the same shape, without the entry of the root. */
function isInstalled(): boolean {
  const notePath = join(folder, 'node_modules/.package-lock.json');
  if (!existsSync(notePath)) return false;
  const installed = packagesIn(notePath);
  const wanted = Object.entries(packagesIn(join(folder, 'package-lock.json')));
  return wanted.every(
    ([path, { version, optional }]) => path === '' || optional || installed[path]?.version === version,
  );
}

function packagesIn(path: string): Record<string, { version?: string; optional?: true }> {
  const { packages } = JSON.parse(readFileSync(path, 'utf8')) as { packages: ReturnType<typeof packagesIn> };
  return packages;
}

/** What a package exports to `require`. Its shape is the caller's promise: the packages may not be installed. */
export function loadPackage<T>(name: string): T {
  return requireFrom(name) as T;
}

/** The version of an installed package. */
export function packageVersion(name: string): string {
  const { version } = JSON.parse(readFileSync(packagePath(name, 'package.json'), 'utf8')) as { version: string };
  return version;
}

/** The path of a file in an installed package. */
export function packagePath(name: string, file: string): string {
  return join(folder, 'node_modules', name, file);
}
