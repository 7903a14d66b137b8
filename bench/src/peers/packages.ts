import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../../peers/', import.meta.url));
const requireFrom = createRequire(join(folder, 'package.json'));

/**
 * Installs the peers' packages into their own folder, unless the versions of the lock file are already installed.
 *
 * @throws if npm fails
 */
export function installPackages(): void {
  if (isInstalled()) return;
  process.stderr.write(`installing the peer packages in ${folder}\n`);
  const { status, error } = spawnSync('npm', ['ci', '--prefix', folder, '--no-audit', '--no-fund'], {
    // Standard output is reserved for JSON lines.
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (status !== 0) {
    const reason = error?.message ?? `exit code ${status}`;
    throw new Error(`npm ci failed in ${folder} (${reason}); correct the error that npm printed above`, {
      cause: error,
    });
  }
}

/**
 * Returns whether the versions in the lock file equal the versions in npm's record of installed packages, except for
 * optional packages. The record has the format of a lock file without the root entry.
 */
function isInstalled(): boolean {
  const notePath = join(folder, 'node_modules/.package-lock.json');
  if (!existsSync(notePath)) return false;
  const installed = readPackages(notePath);
  const expected = Object.entries(readPackages(join(folder, 'package-lock.json')));
  return expected.every(
    ([path, { version, optional }]) => path === '' || optional || installed[path]?.version === version,
  );
}

function readPackages(path: string): Record<string, { version?: string; optional?: true }> {
  const { packages } = JSON.parse(readFileSync(path, 'utf8')) as { packages: ReturnType<typeof readPackages> };
  return packages;
}

/**
 * Loads a package with `require`. The caller asserts the type of the package, because the package may not be installed
 * at compile time.
 */
export function loadPackage<T>(name: string): T {
  return requireFrom(name) as T;
}

export function getPackageVersion(name: string): string {
  const { version } = JSON.parse(readFileSync(getPackagePath(name, 'package.json'), 'utf8')) as { version: string };
  return version;
}

export function getPackagePath(name: string, file: string): string {
  return join(folder, 'node_modules', name, file);
}
