import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createTemporaryFolder } from './folders.ts';
import { getInstalledFolder, installFromNpm } from './install-packages.ts';

/** Writes a package.json that depends on a local package, so that npm needs no registry. */
function createVersionsFile(): string {
  const folder = createTemporaryFolder();
  const dependency = join(folder, 'garden');
  mkdirSync(dependency);
  writeFileSync(join(dependency, 'package.json'), JSON.stringify({ name: 'garden', version: '1.0.0' }));
  writeFileSync(join(folder, '.npmrc'), 'package-lock=false\ninstall-links=true\n');
  return writeVersions(join(folder, 'package.json'), `file:${dependency}`);
}

function writeVersions(versionsFile: string, garden: string): string {
  writeFileSync(versionsFile, JSON.stringify({ name: 'tests', version: '1.0.0', dependencies: { garden } }));
  return versionsFile;
}

const getInstalled = (versionsFile: string) =>
  JSON.parse(readFileSync(join(getInstalledFolder(versionsFile), 'node_modules/garden/package.json'), 'utf8'));

it('installs packages in two runs at the same time, and keeps one complete installation', async () => {
  const versionsFile = createVersionsFile();
  await Promise.all([installFromNpm(versionsFile), installFromNpm(versionsFile)]);
  expect(getInstalled(versionsFile)).toMatchObject({ name: 'garden' });
  // One folder and the link to it.
  expect(readdirSync(join(versionsFile, '../.installed'))).toHaveLength(2);
});

it('a failed installation throws the error of npm and leaves the installed packages as they are', async () => {
  const versionsFile = createVersionsFile();
  await installFromNpm(versionsFile);
  writeVersions(versionsFile, 'file:/unknown/path');
  await expect(installFromNpm(versionsFile)).rejects.toThrow(/cannot be installed\n[\s\S]*\/unknown\/path/);
  expect(getInstalled(versionsFile)).toMatchObject({ name: 'garden' });
  expect(readdirSync(join(versionsFile, '../.installed'))).toHaveLength(2);
});
