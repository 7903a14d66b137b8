import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const copy = mkdtempSync(join(tmpdir(), 'memoryd-version-'));
afterAll(() => rmSync(copy, { recursive: true, force: true }));

interface Manifest {
  name: string;
  version: string;
  workspaces: string[];
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}
interface Lock extends Manifest {
  packages: Record<string, Manifest>;
}

const read = (path: string) => readFileSync(join(copy, path), 'utf8');
const getManifest = (path: string) => JSON.parse(read(path)) as Manifest;

function run(command: string, ...args: string[]): string {
  const author = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@a', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@a' };
  return execFileSync(command, args, { cwd: copy, env: { ...process.env, ...author }, encoding: 'utf8' });
}

const { workspaces, version: before } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
const clientVersion = 'packages/client/src/version.ts';
const pythonVersion = 'clients/python/src/memoryd/_version.py';
const pythonProjects = ['clients/python/pyproject.toml', 'clients/python-server/pyproject.toml'];

beforeAll(() => {
  const manifests = workspaces.map((folder) => `${folder}/package.json`);
  const files = [...manifests, ...pythonProjects, pythonVersion, clientVersion];
  for (const path of ['package.json', 'package-lock.json', '.npmrc', 'scripts', ...files]) {
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    cpSync(join(root, path), join(copy, path), { recursive: true });
  }
  run('git', 'init', '--quiet');
  run('git', 'add', '--all');
  run('git', 'commit', '--quiet', '--message', 'before');
  run('npm', 'version', '98.7.6', '--ignore-scripts=false');
});

it('npm version updates the version of every package and its dependencies on sibling packages', () => {
  expect(before).not.toBe('98.7.6');
  const manifests = [getManifest('package.json'), ...workspaces.map((folder) => getManifest(`${folder}/package.json`))];
  expect(new Set(manifests.map(({ version }) => version))).toEqual(new Set(['98.7.6']));
  const names = new Set(manifests.map(({ name }) => name));
  const siblings = manifests
    .flatMap(({ dependencies, devDependencies }) => Object.entries({ ...dependencies, ...devDependencies }))
    .filter(([name]) => names.has(name));
  expect(siblings.length).toBeGreaterThan(8);
  for (const [name, range] of siblings) expect(range, name).toBe('98.7.6');
});

it('npm version updates the VERSION constant of the client', () => {
  expect(read(clientVersion)).toContain("VERSION = '98.7.6'");
});

it('npm version updates the version of the Python packages and of the server that the client installs', () => {
  for (const path of pythonProjects) expect(read(path), path).toMatch(/^version = "98\.7\.6"$/m);
  expect(read('clients/python/pyproject.toml')).toContain('server = ["memoryd-server==98.7.6"]');
  expect(read(pythonVersion)).toMatch(/^VERSION = "98\.7\.6"$/m);
  const changed = run('git', 'diff', '--numstat', 'HEAD~1', '--', 'clients').trim().split('\n');
  expect(changed.map((line) => line.split('\t'))).toEqual([
    ['1', '1', 'clients/python-server/pyproject.toml'],
    ['2', '2', 'clients/python/pyproject.toml'],
    ['1', '1', pythonVersion],
  ]);
});

it('npm version changes only versions in the lock file', () => {
  const after = JSON.parse(read('package-lock.json')) as Lock;
  expect([after.version, after.packages['']?.version]).toEqual(['98.7.6', '98.7.6']);
  for (const folder of workspaces) {
    const { version, dependencies, devDependencies } = getManifest(`${folder}/package.json`);
    expect(after.packages[folder]).toMatchObject({ version, ...(dependencies && { dependencies }) });
    if (devDependencies) expect(after.packages[folder]).toMatchObject({ devDependencies });
  }
  const lines = run('git', 'diff', '--unified=0', 'HEAD~1', '--', 'package-lock.json').split('\n');
  const changed = lines.filter((line) => /^[+-] /.test(line));
  expect(changed.length).toBeGreaterThan(0);
  expect(changed.filter((line) => !line.includes(`"${line.startsWith('+') ? '98.7.6' : before}"`))).toEqual([]);
});

it('npm version commits all changes and tags the commit with the new version', () => {
  expect(run('git', 'status', '--porcelain')).toBe('');
  expect(run('git', 'tag', '--points-at', 'HEAD').trim()).toBe('v98.7.6');
});

it('CHANGELOG.md starts with the current version', () => {
  const [, first] = /^## (\S+)/m.exec(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')) ?? [];
  expect(first).toBe(before);
});
