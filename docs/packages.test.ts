import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { MemoryClient, type RecallResponse } from '@memoryd/client';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { connectAgent } from '../packages/server/conformance/agent.ts';
import { send } from '../packages/server/conformance/http.ts';
import { eventually, freePort } from '../packages/server/conformance/process.ts';
import { startServer } from '../packages/server/conformance/server.ts';

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
  devDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const getManifest = (folder: string) => JSON.parse(read(`${folder}/package.json`)) as Manifest;

/** Folders of the published packages. */
const PACKAGES = [
  ...['packages/contract', 'packages/client', 'packages/ai-sdk', 'packages/langchain'],
  ...['packages/onnxruntime', 'packages/minilm', 'packages/search', 'packages/core', 'packages/suites'],
  ...['packages/sqlite', 'packages/postgres', 'packages/engine', 'packages/server'],
];

/** Folders of the packages that are imported from code. */
const LIBRARIES = PACKAGES.filter((folder) => folder !== 'packages/server');

const run = promisify(execFile);

/** The environment without the settings that npm passes to scripts. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)));

async function npm(folder: string, ...args: string[]): Promise<string> {
  return (await run('npm', args, { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 })).stdout;
}

interface Packed {
  filename: string;
  files: { path: string }[];
}
const packed = new Map<string, Packed>();

beforeAll(async () => {
  for (const folder of PACKAGES) {
    const output = await npm(join(root, folder), 'pack', '--json', '--silent', '--pack-destination', work);
    const [first] = JSON.parse(output) as Packed[];
    if (first) packed.set(folder, { ...first, filename: join(work, first.filename.replace(/^@(.*)\//, '$1-')) });
  }
}, 300_000);

const getPacked = (folder: string) => packed.get(folder) as Packed;
const getTarball = (folder: string) => new Uint8Array(readFileSync(getPacked(folder).filename));

describe.each(PACKAGES)('%s as published', (folder) => {
  const manifest = getManifest(folder);

  it('a published package has the version of the repository, and depends on exactly this version of sibling packages', () => {
    const versions = PACKAGES.map((other) => getManifest(other).version);
    expect(new Set([...versions, JSON.parse(read('package.json')).version])).toEqual(new Set([manifest.version]));
    const siblings = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies }).filter(([name]) =>
      name.startsWith('@memoryd/'),
    );
    for (const [name, range] of siblings) expect(range, name).toBe(manifest.version);
  });

  it('contains its licence and README, but no tests or sources', () => {
    const paths = getPacked(folder).files.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(['LICENSE', 'README.md']));
    // Microsoft holds the copyright of the code and binaries of onnxruntime-node, under the same licence.
    const holder = folder === 'packages/onnxruntime' ? 'Microsoft Corporation' : '2026 The';
    expect(read(`${folder}/LICENSE`)).toContain(`Copyright (c) ${holder}`);
    // The types of the contract suites are published for authors of adapters.
    const ours = /\.test\.|\.(contract|fixture)\.(?!d\.ts$)|tsbuildinfo|^src\/|(?<!\.d)\.ts$/;
    expect(paths.filter((path) => ours.test(path))).toEqual([]);
  });

  it('passes publint without a warning', async () => {
    const pkg = JSON.parse(read(`${folder}/package.json`));
    const { messages } = await publint({
      pack: { tarball: getTarball(folder).buffer },
      level: 'warning',
      strict: true,
    });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });
});

describe('packages/server as published', () => {
  it('contains all files of the dashboard', () => {
    const paths = getPacked('packages/server').files.map(({ path }) => path);
    const page = read('packages/server/dist/ui/index.html');
    const named = [...page.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map((match) => `dist/ui/${match[1]}`);
    expect(named.length).toBeGreaterThan(2);
    expect(paths).toEqual(expect.arrayContaining(['dist/ui/index.html', ...named]));
  });

  it("contains the licences of the dashboard's dependencies", () => {
    const path = 'dist/ui/licenses.txt';
    expect(getPacked('packages/server').files.map((file) => file.path)).toContain(path);
    const licences = read(`packages/server/${path}`).match(/\/\*!\n[\s\S]*?\*\//g) ?? [];
    for (const name of ['preact']) {
      expect(licences.filter((one) => one.startsWith(`/*!\n${name}\n`) && /copyright/i.test(one))).toHaveLength(1);
    }
  });
});

describe.each(LIBRARIES)('%s as imported', (folder) => {
  const untyped = Object.entries(getManifest(folder).exports ?? {}).filter(([, { types }]) => types === undefined);
  it('an imported package has types that resolve in every resolution mode for ES modules', async () => {
    const entries = { excludeEntrypoints: untyped.map(([path]) => path) };
    const analysis = await checkPackage(createPackageFromTarballData(getTarball(folder)), entries);
    const { problems } = analysis.types ? analysis : { problems: ['no types'] };
    // The packages are ES modules only. They support neither require() nor resolution without `exports`.
    const ours = (problems as { resolutionKind?: string }[]).filter(
      ({ resolutionKind }) => resolutionKind !== 'node10' && resolutionKind !== 'node16-cjs',
    );
    expect(ours).toEqual([]);
  });
});

/** Returns the TypeScript examples of a document. */
function getExamples(path: string): string[] {
  return [...read(path).matchAll(/```ts\n([\s\S]+?)```/g)].map((match) => match[1] as string);
}

/** Runs a module in a project and returns its output. */
async function runModule(folder: string, name: string, source: string): Promise<string> {
  writeFileSync(join(folder, name), source);
  return (await run('node', [name], { cwd: folder })).stdout;
}

/** Compiles files in a project with only the libraries `es2023` and `dom`. Returns the compiler's messages. */
async function compile(folder: string, sources: string[], resolution: string, ...flags: string[]): Promise<string> {
  const files = sources.map((_source, n) => `check-${n}.ts`);
  for (const [n, file] of files.entries()) writeFileSync(join(folder, file), sources[n] as string);
  const [module = '', moduleResolution = ''] = resolution.split('/');
  const args = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2023', '--types', ''];
  const tsc = run(
    join(root, 'node_modules/.bin/tsc'),
    [...args, '--lib', 'es2023,dom', '--module', module, '--moduleResolution', moduleResolution, ...flags, ...files],
    { cwd: folder },
  );
  return tsc.then(
    () => '',
    ({ stdout }: { stdout: string }) => stdout,
  );
}

const RESOLUTIONS = ['nodenext/nodenext', 'preserve/bundler'];

/** Runs examples in a project in order, with a new service. Returns the output of each. */
async function runExamples(folder: string, examples: string[]): Promise<string[]> {
  const server = await startServer();
  const url = `http://127.0.0.1:${server.port}`;
  const written: string[] = [];
  for (const example of examples) {
    written.push(await runModule(folder, 'example.mjs', example.replaceAll('http://127.0.0.1:8090', url)));
  }
  await server.stop();
  return written;
}

/** Returns the examples for another person: same sessions and questions, other texts. */
function toBen(examples: readonly string[]): string[] {
  const words = { "'ada'": "'ben'", Ada: 'Ben', peanuts: 'shellfish', 'cook tonight': 'grill tonight' };
  return examples.map((example) =>
    Object.entries(words).reduce((text, [ada, ben]) => text.replaceAll(ada, ben), example),
  );
}

/** Runs examples for one person, another, and the first again. Expects that neither sees the other's texts. */
async function expectApart(folder: string, examples: string[]): Promise<void> {
  const written = await runExamples(folder, [...examples, ...toBen(examples), ...examples]);
  const [adas, bens, adasAgain] = [0, 1, 2].map((person) =>
    written.slice(person * examples.length, (person + 1) * examples.length).join('\n'),
  );
  expect(bens).toMatch(/shellfish/);
  expect(bens).not.toMatch(/Ada|peanuts|cook tonight/);
  for (const each of [adas, adasAgain]) {
    expect(each).toMatch(/peanuts/);
    expect(each).not.toMatch(/Ben|shellfish|grill tonight/);
  }
}

describe('in an empty project', () => {
  beforeAll(async () => {
    mkdirSync(project);
    writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
    const tarballs = PACKAGES.map((folder) => getPacked(folder).filename);
    await npm(project, 'install', '--prefer-offline', ...tarballs);
  }, 300_000);

  it('the client has no dependencies', () => {
    const { packages } = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, Manifest>;
    };
    expect(packages['node_modules/@memoryd/client']?.version).toBe(getManifest('packages/client').version);
    expect(packages['node_modules/@memoryd/client']).not.toHaveProperty('dependencies');
    expect(existsSync(join(project, 'node_modules/@memoryd/client/dist/contract.d.ts'))).toBe(true);
  });

  it.each(RESOLUTIONS)(
    'the client examples compile without Node types and the contract package (%s)',
    async (resolution) => {
      const contract = join(project, 'node_modules/@memoryd/contract');
      renameSync(contract, `${contract}-away`);
      try {
        expect(await compile(project, getExamples('packages/client/README.md'), resolution)).toBe('');
      } finally {
        renameSync(`${contract}-away`, contract);
      }
    },
  );

  it.each(RESOLUTIONS)('the client types equal the contract types (%s)', async (resolution) => {
    const types = readFileSync(join(project, 'node_modules/@memoryd/client/dist/contract.d.ts'), 'utf8');
    const names = [...types.matchAll(/^export (?:type|interface) (\w+)\b(?!<)/gm)].map((match) => match[1] as string);
    expect(names).toContain('MemoryApi');
    const source = `
      import type * as Client from '@memoryd/client';
      import type * as Contract from '@memoryd/contract';
      type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
      export const same = [
        ${names.map((name) => `true satisfies Same<Client.${name}, Contract.${name}>`).join(',\n')},
        // @ts-expect-error: proves that Same detects different types
        true satisfies Same<Client.StoreRequest, Contract.UpdateRequest>,
      ];`;
    expect(await compile(project, [source], resolution, '--skipLibCheck')).toBe('');
  });

  it('the client examples run', async () => {
    const written = await runExamples(project, getExamples('packages/client/README.md'));
    expect(written.length).toBeGreaterThan(3);
    expect(written[0]).toBe('Ada is allergic to peanuts\n');
    expect(written).toContainEqual(
      expect.stringMatching(
        /^From memory\..*\n<memories>\n- .* · session "kitchen"\n {2}Ada is allergic to peanuts\n<\/memories>\nuser: Let us cook tonight\n$/,
      ),
    );
    expect(written.slice(-2)).toEqual(['2 new memories\n', '1 memory to import\n']);
  });

  it.each(['client', 'langchain'])('the %s examples separate the memories of two users', (name) =>
    expectApart(project, getExamples(`packages/${name}/README.md`)),
  );

  it.each(['packages/ai-sdk', 'packages/langchain'])('%s has its framework as a peer dependency', (folder) => {
    const { dependencies = {}, peerDependencies = {} } = getManifest(folder);
    expect(Object.keys(dependencies).sort()).toEqual(['@memoryd/client', '@memoryd/contract']);
    for (const framework of Object.keys(peerDependencies)) {
      expect(existsSync(join(project, `node_modules/${framework}/package.json`)), framework).toBe(true);
    }
  });

  it.each(RESOLUTIONS)('the contract and LangChain examples compile (%s)', async (resolution) => {
    const examples = ['packages/contract/README.md', 'packages/langchain/README.md'].flatMap(getExamples);
    expect(await compile(project, examples, resolution, '--skipLibCheck')).toBe('');
  });

  it('TypeScript code that omits the user does not compile', async () => {
    const source = `
      import { MemoryClient } from '@memoryd/client';
      import { session } from '@memoryd/client/session';
      import { MemoryChatHistory, MemoryRetriever, memoryTools } from '@memoryd/langchain';
      const memory = new MemoryClient({ url: 'http://127.0.0.1:8090' });
      // @ts-expect-error: userId
      session(memory, 'monday', {});
      session(memory, 'monday', { userId: null });
      // @ts-expect-error: userId
      new MemoryRetriever({ memory });
      // @ts-expect-error: userId
      new MemoryChatHistory({ memory, sessionId: 'monday' });
      // @ts-expect-error: userId
      memoryTools(memory, {});`;
    expect(await compile(project, [source], RESOLUTIONS[0] as string, '--skipLibCheck')).toBe('');
  });

  it('the LangChain examples run', async () => {
    expect(await runExamples(project, getExamples('packages/langchain/README.md'))).toEqual([
      'Ada is allergic to peanuts\n',
      'human: Let us cook tonight\nai: Without peanuts, then.\n',
      'memory_store memory_recall memory_session memory_update memory_forget\n',
    ]);
  });

  it('the examples in docs/guide/users.md return only memories of the requested user', async () => {
    const examples = getExamples('docs/guide/users.md');
    expect(await compile(project, examples, 'preserve/bundler', '--skipLibCheck')).toBe('');
    expect(await runExamples(project, examples)).toEqual([
      expect.stringMatching(
        /^From memory\..*\n<memories>\n- .*\n {2}I am allergic to peanuts\n<\/memories>\nuser: Can I eat peanut butter\?\n$/,
      ),
      'I am allergic to shellfish\nI am allergic to peanuts\n',
      'Cleo eats no meat\n',
      'Wears shoes of size 39\n',
    ]);
  });

  it('the engine serves several namespaces', async () => {
    const example = getExamples('packages/engine/README.md').find((text) => text.includes('openEngine')) ?? '';
    rmSync(join(project, 'memory.db'), { force: true });
    expect(await runModule(project, 'namespaces.mjs', example)).toBe('Ada uses the shop\nAda uses the clinic\n');
  });

  it.each(['README.md', 'packages/engine/README.md'])('the engine example in %s runs', async (document) => {
    const example = getExamples(document).find((text) => text.includes('openMemory'));
    rmSync(join(project, 'memory.db'), { force: true });
    // The engine waits 3 s for the model. A busy machine may need longer to open it.
    const printed = () => runModule(project, 'engine.mjs', example ?? '');
    await expect.poll(printed, { timeout: 50_000 }).toBe('Ada is allergic to peanuts\n');
    expect(existsSync(join(project, 'memory.db'))).toBe(true);
  });

  it('the service starts with the memoryd command and serves its documentation pages', async () => {
    const env = { PATH: process.env.PATH ?? '', HOME: project };
    const port = await freePort();
    const args = ['--port', String(port), '--db-path', join(project, 'service.db')];
    const service = spawn(join(project, 'node_modules/.bin/memoryd'), args, {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    onTestFinished(() => void service.kill('SIGKILL'));
    await eventually('the service', 30_000, () => send(port, { path: '/health' }).catch(() => undefined));
    const memory = new MemoryClient({ url: `http://127.0.0.1:${port}` });
    await memory.store({ content: 'Ada is allergic to peanuts' });
    const { results } = await memory.recall({ query: 'Can Ada eat peanut butter?' });
    expect(results.map(({ content }) => content)).toEqual(['Ada is allergic to peanuts']);
    for (const path of ['/docs/', '/redoc', '/openapi.json'])
      expect((await send(port, { path })).status, path).toBe(200);
    service.kill('SIGTERM');
    expect(await once(service, 'exit')).toEqual([0, null]);
  });

  it('memoryd mcp separates the agents of two users over standard input and output', async () => {
    const command = join(project, 'node_modules/.bin/memoryd');
    const allergies = { ada: 'peanuts', ben: 'shellfish' };
    const agentFor = (user: string) =>
      connectAgent({ command, args: ['mcp', '--structured', '--db-path', join(project, 'agent.db'), '--user', user] });
    for (const [user, food] of Object.entries(allergies)) {
      const agent = await agentFor(user);
      await agent.call('memory_store', { content: `I am allergic to ${food}`, session_id: 'kitchen' });
      await agent.end();
    }
    for (const [user, food] of Object.entries(allergies)) {
      const agent = await agentFor(user);
      const found = await agent.call<RecallResponse>('memory_recall', { query: 'what food should I avoid' });
      expect(found.results.map(({ content }) => content)).toEqual([`I am allergic to ${food}`]);
      await agent.end();
    }
  });

  it('the engine names the missing package if the database is a PostgreSQL URL', async () => {
    const postgres = join(project, 'node_modules/@memoryd/postgres');
    renameSync(postgres, `${postgres}-away`);
    try {
      const written = await runModule(
        project,
        'no-postgres.mjs',
        `import { openMemory } from '@memoryd/engine';
        await openMemory('postgres://127.0.0.1:1/none').catch(({ code, message }) => console.log(code, message));`,
      );
      expect(written).toBe(
        'UNAVAILABLE a database on a PostgreSQL server needs a package that is not installed: npm install @memoryd/postgres\n',
      );
    } finally {
      renameSync(`${postgres}-away`, postgres);
    }
    expect(getManifest('packages/engine').dependencies).not.toHaveProperty('pg');
  });

  it('no installed package has an install script', () => {
    const { packages } = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { hasInstallScript?: true }>;
    };
    expect(Object.keys(packages).filter((path) => packages[path]?.hasInstallScript)).toEqual([]);
  });

  it('the engine reports a missing native library, and recalls by words only', async () => {
    const binaries = join(project, 'node_modules/@memoryd/onnxruntime/bin');
    renameSync(binaries, `${binaries}-away`);
    try {
      const written = await runModule(
        project,
        'words.mjs',
        `import { openMemory } from '@memoryd/engine';
        const telemetry = { report: ({ event, error }) => console.log(event, error?.message) };
        const memory = await openMemory('./words.db', { telemetry });
        await memory.store({ content: 'Ada is allergic to peanuts' });
        console.log((await memory.recall({ query: 'peanuts' })).total);
        await memory.close();`,
      );
      expect(written).toMatch(/^embedder_unavailable .*onnxruntime_binding\.node/m);
      expect(written).toMatch(/^1$/m);
    } finally {
      renameSync(`${binaries}-away`, binaries);
    }
  });
});

describe.each([
  { major: 6, MockLanguageModel: 'MockLanguageModelV3', isStepCount: 'stepCountIs' },
  { major: 7, MockLanguageModel: 'MockLanguageModelV4', isStepCount: 'isStepCount' },
])('packages/ai-sdk in a project with AI SDK $major', ({ major, MockLanguageModel, isStepCount }) => {
  const folder = join(work, `ai-sdk-${major}`);
  // AI SDK 6 has other names, as the document explains.
  const examples = getExamples('packages/ai-sdk/README.md').map((text) => text.replaceAll('isStepCount', isStepCount));
  let warnings: string[] = [];

  beforeAll(async () => {
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
    const tarballs = ['contract', 'client', 'ai-sdk'].map((name) => getPacked(`packages/${name}`).filename);
    const args = ['install', '--prefer-offline', '--strict-peer-deps', ...tarballs, `ai@${major}`];
    const { stderr } = await run('npm', args, { cwd: folder, env });
    warnings = stderr.match(/^npm warn .*/gm) ?? [];
  }, 300_000);

  it('installs without a warning about peer dependencies', () => {
    expect(warnings).toEqual([]);
    const installed = JSON.parse(readFileSync(join(folder, 'node_modules/ai/package.json'), 'utf8')) as Manifest;
    expect(installed.version.split('.')[0]).toBe(String(major));
  });

  it.each(RESOLUTIONS)('a project with this AI SDK compiles the examples (%s)', async (resolution) => {
    const type = "Parameters<typeof import('ai').wrapLanguageModel>[0]['model']";
    writeFileSync(join(folder, 'model.d.mts'), `export declare const model: ${type};`);
    expect(await compile(folder, examples, resolution, '--skipLibCheck')).toBe('');
  });

  it('rejects code that omits the user at compile time', async () => {
    const source = `
      import { memoryMiddleware, memoryTools } from '@memoryd/ai-sdk';
      import { MemoryClient } from '@memoryd/client';
      const memory = new MemoryClient({ url: 'http://127.0.0.1:8090' });
      // @ts-expect-error: userId
      memoryMiddleware(memory, { sessionId: 'monday' });
      memoryMiddleware(memory, { userId: null, sessionId: 'monday' });
      // @ts-expect-error: userId
      memoryTools(memory, {});`;
    expect(await compile(folder, [source], RESOLUTIONS[0] as string, '--skipLibCheck')).toBe('');
  });

  it('passes recalled memories and the memory tools to a model', async () => {
    writeFileSync(
      join(folder, 'model.mjs'),
      `import { ${MockLanguageModel} } from 'ai/test';
      const usage = { inputTokens: {}, outputTokens: {} };
      const input = '{"query":"peanuts"}';
      const call = { type: 'tool-call', toolCallId: 'a', toolName: 'memory_recall', input };
      export const model = new ${MockLanguageModel}({
        doGenerate: async ({ prompt, tools }) => {
          const [note] = prompt.map(({ content }) => content[0]);
          if (prompt.at(-1).role === 'user') {
            return { content: [call], finishReason: { unified: 'tool-calls' }, usage, warnings: [] };
          }
          const told = note.text.split('\\n').slice(2, 4).join('');
          const text = [told, tools.map(({ name }) => name), prompt.at(-1).content[0].output.value].join(' ');
          return { content: [{ type: 'text', text }], finishReason: { unified: 'stop' }, usage, warnings: [] };
        },
      });`,
    );
    expect(await runExamples(folder, examples)).toEqual([
      expect.stringMatching(
        /^- \w{3} \d{4}-\d\d-\d\d {2}Ada is allergic to peanuts memory_store,memory_recall,memory_session,memory_update,memory_forget .*\n {2}Ada is allergic to peanuts\n/s,
      ),
    ]);
  });

  it('separates two users whose sessions have the same id', async () => {
    writeFileSync(
      join(folder, 'model.mjs'),
      `import { ${MockLanguageModel} } from 'ai/test';
      const usage = { inputTokens: {}, outputTokens: {} };
      const call = { type: 'tool-call', toolCallId: 'a', toolName: 'memory_recall', input: '{"query":"what to avoid"}' };
      export const model = new ${MockLanguageModel}({
        doGenerate: async ({ prompt }) => {
          if (prompt.at(-1).role === 'user') {
            return { content: [call], finishReason: { unified: 'tool-calls' }, usage, warnings: [] };
          }
          const content = [{ type: 'text', text: 'I was told: ' + JSON.stringify(prompt) }];
          return { content, finishReason: { unified: 'stop' }, usage, warnings: [] };
        },
      });`,
    );
    await expectApart(folder, examples);
  });
});
