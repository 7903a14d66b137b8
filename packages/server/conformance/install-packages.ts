import { execFile } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join, parse } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

const MAX_INSTALL_MS = 3_600_000;

/**
 * Returns the folder with the packages of a file of versions. It is a link to the newest complete installation in the
 * folder `.installed` beside the file.
 *
 * @param versionsFile a package.json or a requirements.txt
 */
export function getInstalledFolder(versionsFile: string): string {
  return join(dirname(versionsFile), '.installed', parse(versionsFile).name);
}

/**
 * Installs the packages of a package.json, unless they are installed.
 *
 * @param withScripts packages whose install scripts run
 * @throws Error with the output of npm
 */
export function installFromNpm(versionsFile: string, withScripts: readonly string[] = []): Promise<void> {
  return installOnce(versionsFile, async (folder) => {
    copyFileSync(join(dirname(versionsFile), '.npmrc'), join(folder, '.npmrc'));
    await execute('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: folder });
    if (withScripts.length === 0) return;
    await execute('npm', ['rebuild', '--ignore-scripts=false', ...withScripts], { cwd: folder });
  });
}

/**
 * Installs the packages of a requirements.txt in a virtual environment, unless they are installed.
 *
 * @throws Error with the output of pip
 */
export function installFromPypi(versionsFile: string): Promise<void> {
  return installOnce(versionsFile, async (folder) => {
    await execute('python3', ['-m', 'venv', folder]);
    const pip = ['install', '--quiet', '--disable-pip-version-check', '--requirement', versionsFile];
    await execute(join(folder, 'bin/pip'), pip);
  });
}

/**
 * Each run installs into a folder of its own, and the link is made when all packages are there. So simultaneous runs cannot
 * break each other, and an interrupted installation is not used.
 */
async function installOnce(versionsFile: string, install: (folder: string) => Promise<void>): Promise<void> {
  if (isInstalled(versionsFile)) return;
  const link = getInstalledFolder(versionsFile);
  mkdirSync(dirname(link), { recursive: true });
  removeOldFolders(link);
  const folder = mkdtempSync(`${link}-`);
  try {
    copyFileSync(versionsFile, join(folder, basename(versionsFile)));
    await install(folder);
    // Another run may have installed the same versions since the first check.
    if (isInstalled(versionsFile)) return rmSync(folder, { recursive: true });
    rmSync(link, { force: true });
    symlinkSync(basename(folder), link);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw new Error(`the packages of ${versionsFile} cannot be installed\n${getOutput(error)}`, { cause: error });
  }
}

function isInstalled(versionsFile: string): boolean {
  const installed = join(getInstalledFolder(versionsFile), basename(versionsFile));
  return existsSync(installed) && readFileSync(installed, 'utf8') === readFileSync(versionsFile, 'utf8');
}

/** Removes the folders of earlier versions and of interrupted runs. A younger folder may belong to a running installation. */
function removeOldFolders(link: string): void {
  for (const name of readdirSync(dirname(link))) {
    const folder = join(dirname(link), name);
    const isOld = Date.now() - lstatSync(folder).mtimeMs > MAX_INSTALL_MS;
    if (name.startsWith(`${basename(link)}-`) && isOld) rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the output of a command that failed. */
function getOutput(error: unknown): string {
  const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
  return `${message}\n${message.includes(stderr) ? '' : stderr}${stdout}`.trim();
}
