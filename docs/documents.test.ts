import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ERRORS } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import { send } from '../packages/server/conformance/http.ts';
import { startServer, temporaryFolder } from '../packages/server/conformance/process.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && existsSync(join(root, path)));
const documents = files.filter((path) => path.endsWith('.md'));

describe('documents', () => {
  it.each(documents)('%s links only to what exists', (path) => {
    const targets = [...read(path).matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map((match) => match[1] as string);
    const broken = targets.filter(
      (target) => !/^[a-z]+:/.test(target) && !existsSync(join(root, dirname(path), target)),
    );
    expect(broken).toEqual([]);
  });

  it('name every folder of source in ARCHITECTURE.md, and none that is not there', () => {
    const named = [...read('ARCHITECTURE.md').matchAll(/^\| `([^`]+)` \|/gm)].map((match) => match[1] as string);
    expect(named.filter((place) => !existsSync(join(root, place)))).toEqual([]);
    const folders = new Set(
      files.filter((path) => /^(packages|bench)\/.*\.ts$/.test(path)).map((path) => dirname(path)),
    );
    const isCovered = (folder: string) =>
      named.some((place) => folder === dirname(place) || `${folder}/`.startsWith(`${place}/`));
    expect(
      [...folders]
        .filter((folder) => !isCovered(folder))
        .filter((folder) => !/^packages\/engine\/src\/(clock|ids)$/.test(folder)),
    ).toEqual([]);
  });

  it('give every command of package.json that they name', () => {
    const scripts = Object.keys((JSON.parse(read('package.json')) as { scripts: object }).scripts);
    for (const path of documents) {
      const named = [...read(path).matchAll(/npm run ([\w:-]+)(?![\w:-]| --workspace)/g)].map(
        (match) => match[1] as string,
      );
      expect(
        named.filter((script) => !scripts.includes(script)),
        path,
      ).toEqual([]);
    }
  });

  it('list every error code and no other', () => {
    const listed = [...read('docs/reference/errors.md').matchAll(/^\| `([A-Z_]+)` \| (\d+) \| (.+) \|$/gm)];
    expect(
      Object.fromEntries(listed.map(([, code, status, meaning]) => [code, { status: Number(status), meaning }])),
    ).toEqual(ERRORS);
  });
});

describe.each(['', 'bench/peers/'])('installing %s', (folder) => {
  it('runs the install script of better-sqlite3 and of no other package', () => {
    const { allowScripts } = JSON.parse(read(`${folder}package.json`)) as { allowScripts: Record<string, boolean> };
    const { packages } = JSON.parse(read(`${folder}package-lock.json`)) as {
      packages: Record<string, { hasInstallScript?: true }>;
    };
    const scripted = Object.entries(packages).filter(([, entry]) => entry.hasInstallScript);
    const names = scripted.map(([path]) => path.replace(/^.*node_modules\//, ''));
    expect(Object.keys(allowScripts).sort()).toEqual([...new Set(names)].sort());
    expect(names.filter((name) => allowScripts[name])).toEqual(['better-sqlite3']);
  });

  it('names no registry host in the lock file', () => {
    expect(read(`${folder}package-lock.json`)).not.toMatch(/"resolved": "http/);
  });
});

describe('installing', () => {
  it('fetches no CUDA files, whichever npm reads its settings', () => {
    expect(read('.npmrc')).toMatch(/^onnxruntime-node-install=skip$/m);
  });

  it('finds the command of the package before anything is built', () => {
    const { bin } = JSON.parse(read('packages/server/package.json')) as { bin: Record<string, string> };
    expect(files).toContain(join('packages/server', bin.memoryd as string));
  });
});

interface Example {
  command: string;
  answer: unknown;
}

function examplesOf(document: string): Example[] {
  const pattern = /```sh\n(curl [^\n]+)\n```\n\n```json\n([^\n]+)\n```/g;
  return [...document.matchAll(pattern)].map(([, command, answer]) => ({
    command: command as string,
    answer: JSON.parse(answer as string),
  }));
}

/** What a curl command of the kinds that the README uses asks for. */
function toRequest(command: string): { method: string; path: string; body?: string } {
  const url = new URL(/http:\/\/127\.0\.0\.1:8090[^\s']*/.exec(command)?.[0] ?? '');
  const body = / -d '([^']+)'/.exec(command)?.[1];
  return {
    method: body === undefined ? 'GET' : 'POST',
    path: url.pathname + url.search,
    ...(body !== undefined && { body }),
  };
}

/** An answer with what differs from run to run replaced by what it is. */
function comparable(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer), (key, value: unknown) => {
    if (key === 'id') return typeof value;
    if (key === 'created_at') return typeof value;
    return value;
  });
}

describe('the README', () => {
  it('shows calls whose answers are what the service answers', async () => {
    const examples = examplesOf(read('README.md'));
    expect(examples).toHaveLength(3);
    const server = await startServer();
    for (const { command, answer } of examples) {
      const { body, ...request } = toRequest(command);
      const got = await send(server.port, {
        ...request,
        ...(body !== undefined && { body, headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
      });
      expect(comparable(got.body), command).toEqual(comparable(answer));
    }
    await server.stop();
  });
});

describe('the guide to copies', () => {
  it('shows commands that do what it says, and calls that there are', async () => {
    const guide = read('docs/guide/backup.md');
    const lines = [...guide.matchAll(/```sh\n([^`]+)```/g)].flatMap(([, block = '']) => block.trim().split('\n'));
    const folder = temporaryFolder();
    const server = await startServer({ dbPath: join(folder, 'memory.db'), env: { SERVICE_EMBEDDER: 'none' } });
    await send(server.port, { method: 'POST', path: '/store', json: { content: 'kept' } });
    const command = `memoryd() { "${process.execPath}" "${join(root, 'packages/server')}" "$@"; }`;
    for (const line of lines.filter((each) => each.startsWith('memoryd '))) {
      execFileSync('bash', ['-c', `set -o pipefail; ${command}; ${line}`], { cwd: folder });
    }
    for (const name of ['monday.db', 'restored.db', 'memories.ndjson', 'another.db', 'third.db']) {
      expect(existsSync(join(folder, name)), name).toBe(true);
    }
    const calls = lines.filter((line) => line.startsWith('curl '));
    for (const call of calls) {
      const { path } = toRequest(call);
      const method = path === '/import' ? 'POST' : 'GET';
      const body = method === 'POST' ? { body: readFileSync(join(folder, 'memories.ndjson')) } : {};
      expect((await send(server.port, { method, path, ...body })).status, call).toBe(200);
    }
    expect([lines.length, calls.length]).toEqual([11, 3]);
    await server.stop();
  }, 120_000);
});
