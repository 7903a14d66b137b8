import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer } from '../packages/server/conformance/process.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const work = mkdtempSync(join(tmpdir(), 'memoryd-packages-'));
const project = join(work, 'project');
afterAll(() => rmSync(work, { recursive: true, force: true }));

interface Manifest {
  name: string;
  version: string;
  private?: true;
  exports?: Record<string, { types?: string }>;
  dependencies?: Record<string, string>;
}

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const manifestOf = (folder: string) => JSON.parse(read(`${folder}/package.json`)) as Manifest;

/** Packages that are published, by their folders. */
const PACKAGES = ['packages/contract', 'packages/client', 'packages/engine', 'packages/server'];

/** Those that an empty project takes here. */
const LIBRARIES = ['packages/contract', 'packages/client', 'packages/engine'];

const run = promisify(execFile);

async function npm(folder: string, ...args: string[]): Promise<string> {
  return (await run('npm', args, { cwd: folder, maxBuffer: 64 * 1024 * 1024 })).stdout;
}

interface Packed {
  filename: string;
  files: { path: string }[];
}
const packed = new Map<string, Packed>();

beforeAll(async () => {
  for (const folder of PACKAGES) {
    const told = await npm(join(root, folder), 'pack', '--json', '--silent', '--pack-destination', work);
    const [first] = JSON.parse(told) as Packed[];
    if (first) packed.set(folder, { ...first, filename: join(work, first.filename.replace(/^@(.*)\//, '$1-')) });
  }
}, 120_000);

const packedOf = (folder: string) => packed.get(folder) as Packed;
const tarballOf = (folder: string) => new Uint8Array(readFileSync(packedOf(folder).filename));

describe.each(PACKAGES)('%s as it is published', (folder) => {
  const manifest = manifestOf(folder);

  it('has the version of all packages, and asks for just that of the others', () => {
    const versions = PACKAGES.map((other) => manifestOf(other).version);
    expect(new Set([...versions, JSON.parse(read('package.json')).version])).toEqual(new Set([manifest.version]));
    const siblings = Object.entries(manifest.dependencies ?? {}).filter(([name]) => name.startsWith('@memoryd/'));
    for (const [name, range] of siblings) expect(range, name).toBe(manifest.version);
  });

  it('holds its licence, and neither tests nor sources', () => {
    const paths = packedOf(folder).files.map(({ path }) => path);
    expect(paths).toContain('LICENSE');
    expect(read(`${folder}/LICENSE`)).toBe(read('LICENSE'));
    expect(paths.filter((path) => /\.(test|contract|fixture)\.|tsbuildinfo|^src\/|(?<!\.d)\.ts$/.test(path))).toEqual(
      [],
    );
  });

  it('has nothing that publint warns of', async () => {
    const pkg = JSON.parse(read(`${folder}/package.json`));
    const { messages } = await publint({ pack: { tarball: tarballOf(folder).buffer }, level: 'warning', strict: true });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });
});

describe.each(LIBRARIES)('%s as it is imported', (folder) => {
  const untyped = Object.entries(manifestOf(folder).exports ?? {}).filter(([, { types }]) => types === undefined);
  it('has types that resolve wherever ES modules do', async () => {
    const entries = { excludeEntrypoints: untyped.map(([path]) => path) };
    const analysis = await checkPackage(createPackageFromTarballData(tarballOf(folder)), entries);
    const { problems } = analysis.types ? analysis : { problems: ['no types'] };
    // The packages are ES modules alone: what require() makes of them, and resolution from before `exports`, is not theirs.
    const ours = (problems as { resolutionKind?: string }[]).filter(
      ({ resolutionKind }) => resolutionKind !== 'node10' && resolutionKind !== 'node16-cjs',
    );
    expect(ours).toEqual([]);
  });
});

/** The examples of a document, as they stand. */
function examplesOf(path: string): string[] {
  return [...read(path).matchAll(/```ts\n([\s\S]+?)```/g)].map((match) => match[1] as string);
}

describe('in an empty project', () => {
  beforeAll(async () => {
    mkdirSync(project);
    writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
    const tarballs = LIBRARIES.map((folder) => packedOf(folder).filename);
    await npm(project, 'install', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', ...tarballs);
    // What its install script fetches or compiles; the same version.
    const addon = 'node_modules/better-sqlite3/build';
    cpSync(join(root, addon), join(project, addon), { recursive: true });
  }, 300_000);

  /** Runs a module in the project and answers what it writes. */
  async function runModule(name: string, source: string): Promise<string> {
    writeFileSync(join(project, name), source);
    return (await run('node', [name], { cwd: project })).stdout;
  }

  /** What the compiler says of files in the project, where nothing but the language and these libraries is known. */
  async function compile(sources: string[], resolution: string, ...flags: string[]): Promise<string> {
    const files = sources.map((_source, n) => `check-${n}.ts`);
    for (const [n, file] of files.entries()) writeFileSync(join(project, file), sources[n] as string);
    const [module = '', moduleResolution = ''] = resolution.split('/');
    const args = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2023', '--types', ''];
    const tsc = run(
      join(root, 'node_modules/.bin/tsc'),
      [...args, '--lib', 'es2023,dom', '--module', module, '--moduleResolution', moduleResolution, ...flags, ...files],
      { cwd: project },
    );
    return tsc.then(
      () => '',
      ({ stdout }: { stdout: string }) => stdout,
    );
  }

  const RESOLUTIONS = ['nodenext/nodenext', 'preserve/bundler'];

  it('the client brings no other package', () => {
    const { packages } = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, Manifest>;
    };
    expect(packages['node_modules/@memoryd/client']?.version).toBe(manifestOf('packages/client').version);
    expect(packages['node_modules/@memoryd/client']).not.toHaveProperty('dependencies');
    expect(existsSync(join(project, 'node_modules/@memoryd/client/dist/contract.d.ts'))).toBe(true);
  });

  it.each(RESOLUTIONS)('the examples of the client compile without Node and the contract (%s)', async (resolution) => {
    const contract = join(project, 'node_modules/@memoryd/contract');
    renameSync(contract, `${contract}-away`);
    try {
      expect(await compile(examplesOf('packages/client/README.md'), resolution)).toBe('');
    } finally {
      renameSync(`${contract}-away`, contract);
    }
  });

  it.each(RESOLUTIONS)('the types of the client are those of the contract (%s)', async (resolution) => {
    const types = readFileSync(join(project, 'node_modules/@memoryd/client/dist/contract.d.ts'), 'utf8');
    const names = [...types.matchAll(/^export (?:type|interface) (\w+)/gm)].map((match) => match[1] as string);
    expect(names).toContain('MemoryApi');
    const source = `
      import type * as Client from '@memoryd/client';
      import type * as Contract from '@memoryd/contract';
      type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
      export const same = [
        ${names.map((name) => `true satisfies Same<Client.${name}, Contract.${name}>`).join(',\n')},
        // @ts-expect-error: so that it would be seen if they were not
        true satisfies Same<Client.StoreRequest, Contract.UpdateRequest>,
      ];`;
    expect(await compile([source], resolution, '--skipLibCheck')).toBe('');
  });

  it('the examples of the client run', async () => {
    const server = await startServer();
    const url = `http://127.0.0.1:${server.port}`;
    const examples = examplesOf('packages/client/README.md');
    expect(examples.length).toBeGreaterThan(3);
    const written: string[] = [];
    for (const example of examples) {
      written.push(await runModule('client.mjs', example.replaceAll('http://127.0.0.1:8090', url)));
    }
    expect(written[0]).toBe('Ada is allergic to peanuts\n');
    expect(written.at(-1)).toBe('memory: Ada is allergic to peanuts\nuser: Let us cook tonight\n');
    await server.stop();
  });

  it('the example of the engine runs, and recalls by meaning', async () => {
    const example = examplesOf('README.md').find((text) => text.includes('openMemory'));
    expect(await runModule('engine.mjs', example ?? '')).toBe('Ada is allergic to peanuts\n');
    expect(existsSync(join(project, 'memory.db'))).toBe(true);
  });

  it('the engine recalls by words where its native library was left out, and says what to install', async () => {
    const library = join(project, 'node_modules/onnxruntime-node');
    renameSync(library, `${library}-away`);
    try {
      const written = await runModule(
        'words.mjs',
        `import { openMemory } from '@memoryd/engine';
        const telemetry = { report: ({ event, error }) => console.log(event, error?.message) };
        const memory = await openMemory('./words.db', { telemetry });
        await memory.store({ content: 'Ada is allergic to peanuts' });
        console.log((await memory.recall({ query: 'peanuts' })).total);
        await memory.close();`,
      );
      expect(written).toMatch(/^embedder_unavailable .*ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node/m);
      expect(written).toMatch(/^1$/m);
      expect(manifestOf('packages/engine')).toHaveProperty('optionalDependencies.onnxruntime-node');
    } finally {
      renameSync(`${library}-away`, library);
    }
  });
});
