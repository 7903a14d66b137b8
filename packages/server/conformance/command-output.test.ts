import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { ConsolidationChange, RecallResponse } from '@memoryd/contract';
import { openMemory } from '@memoryd/engine';
import { beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from './command.ts';
import { getJsonInProcess } from './command-in-process.ts';
import { createTemporaryFolder } from './folders.ts';
import { startClient, useServer, WORDS_ONLY } from './under-test.ts';

const serverPackage = fileURLToPath(new URL('..', import.meta.url));
const newPath = () => join(createTemporaryFolder(), 'memory.db');
const env = { SERVICE_EMBEDDER: 'none' };

/** Runs a program until it ends. A server in this process can respond meanwhile. */
async function run(program: string, args: string[], variables: Record<string, string> = {}) {
  const child = spawn(program, args, {
    env: { PATH: process.env.PATH ?? '', ...env, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, stdout, stderr };
}

/** Runs a command with a terminal for all of its streams, and returns the output on the terminal. */
async function onTerminal(args: string[], variables: Record<string, string> = {}, columns = 80): Promise<string> {
  const command = [process.execPath, serverPackage, ...args].map((word) => `'${word}'`).join(' ');
  const resized = `stty cols ${columns}; ${command}`;
  return (await run('script', ['-qefc', resized, '/dev/null'], { TERM: 'xterm-256color', ...variables })).stdout;
}

const hasScript = spawnSync('script', ['--version']).status === 0;
// biome-ignore lint/suspicious/noConsole: reports that tests are skipped
if (!hasScript) console.warn('no script(1): output on terminals is not tested');

const BOLD = '\u001b[1m';
/** Pattern of a time with --utc. */
const SHORT_UTC = '\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\dZ';

describe('command output', () => {
  const memoryd = useServer({ env: WORDS_ONLY });
  const at = () => ['--url', `http://127.0.0.1:${memoryd.server.port}`];
  beforeAll(async () => {
    await memoryd.store({ content: 'red \u001b[31m alert\u202e\nnext' });
    await memoryd.store({ content: `long ${'word '.repeat(100)}` });
  });

  it('escapes control characters of a memory in text, and contains the exact content as JSON', async () => {
    const { stdout } = await runCommand(['recall', 'alert', ...at()], { env });
    expect(stdout).toContain('    red \\u{1b}[31m alert\\u{202e}\n    next\n');
    const { results } = await getJsonInProcess<RecallResponse>(['recall', 'alert', ...at()], { env });
    expect(results[0]?.content).toBe('red \u001b[31m alert\u202e\nnext');
  });

  it.runIf(existsSync('/dev/full'))('command output to a full disk ends with a one-line error', async () => {
    for (const verb of ['stats', 'export']) {
      const command = `'${process.execPath}' '${serverPackage}' ${verb} ${at().join(' ')} > /dev/full`;
      const { code, stderr } = await run('sh', ['-c', command]);
      expect([code, stderr]).toEqual([6, 'standard output cannot be written (ENOSPC)\n']);
    }
  });

  it.runIf(hasScript)('command output has colors only on a terminal without NO_COLOR', async () => {
    const args = ['recall', 'long word', ...at()];
    expect(await onTerminal(args)).toContain(BOLD);
    expect(await onTerminal(args, { NO_COLOR: '1' })).not.toContain('\u001b[');
    const { stdout } = await runCommand(args, { env });
    expect(stdout).not.toContain('\u001b[');
  });

  it.runIf(hasScript)('wraps texts to the width of the terminal, and to 80 columns in a pipe', async () => {
    const widest = (text: string) => Math.max(...text.split(/\r?\n/).map((line) => line.length));
    const args = ['recall', 'long word', ...at()];
    expect(widest(await onTerminal(args, { NO_COLOR: '1' }, 50))).toBeGreaterThan(40);
    expect(widest(await onTerminal(args, { NO_COLOR: '1' }, 50))).toBeLessThanOrEqual(50);
    const { stdout } = await runCommand(args, { env });
    expect(widest(stdout)).toBeGreaterThan(70);
    expect(widest(stdout)).toBeLessThanOrEqual(80);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('word '.repeat(99));
  });

  it.runIf(hasScript)(
    'shows three lines of a long text in a list, and the whole text in a pipe and with --full',
    async () => {
      const args = ['list', ...at()];
      const shown = await onTerminal(args, { NO_COLOR: '1' });
      expect(shown).toMatch(/(\r\n {4}(long )?(word ?)+){3}\r\n {4}… \(\+4 lines, --full\)\r\n/);
      const countWords = (text: string) => text.match(/\bword\b/g)?.length;
      expect(countWords(await onTerminal([...args, '--full'], { NO_COLOR: '1' }))).toBe(100);
      expect(countWords((await runCommand(args, { env })).stdout)).toBe(100);
    },
  );

  it.runIf(hasScript).each([60, 80, 120])('cuts no id and no date on a terminal of %d columns', async (columns) => {
    await memoryd.storeAll(
      [1, 2].map(() => ({ content: 'merged', user_id: 'a-user-with-a-long-id-of-38-characters' })),
    );
    const { id: run = '' } = await memoryd.consolidate();
    const { changes = [] } = await memoryd.ok<{ changes?: ConsolidationChange[] }>({ path: `/consolidations/${run}` });
    const { results } = await getJsonInProcess<RecallResponse>(['recall', 'long', ...at()], { env });
    const print = (...args: string[]) => onTerminal([...args, '--utc', ...at()], { NO_COLOR: '1' }, columns);
    const ids = changes.flatMap(({ memory_id, merged_into }) => [memory_id, ...(merged_into ? [merged_into] : [])]);
    const shown = await print('consolidate', 'show', run);
    for (const id of ids) expect(shown).toContain(id);
    expect(ids.length).toBeGreaterThan(2);
    expect(await print('consolidate', 'runs')).toMatch(new RegExp(`${run}[^]*${SHORT_UTC}`));
    expect(await print('users', 'list')).toMatch(new RegExp(`a-user-with-a-long-id-of-38-characters[^]*${SHORT_UTC}`));
    expect(await print('session')).toMatch(new RegExp(`${SHORT_UTC}[^]*${SHORT_UTC}[^]*default`));
    const fields = await print('show', results[0]?.id ?? '');
    expect(fields).toMatch(new RegExp(`id +${results[0]?.id}\r\n[^]*created_at +${SHORT_UTC}\r\n`));
    await memoryd.forgetMany('user_id=a-user-with-a-long-id-of-38-characters');
  });

  it.runIf(hasScript)('shows progress, speed and remaining time on a terminal', async () => {
    const folder = createTemporaryFolder();
    const terminal = await onTerminal(['export', join(folder, 'one.ndjson'), ...at()]);
    const drawn = terminal.split('\u001b').filter((piece) => piece.includes('exporting'));
    // The first bar has no speed yet.
    expect(drawn[0]).toContain(', time left unknown');
    for (const bar of drawn)
      expect(bar).toMatch(
        /exporting \[[^\]]+\] \d+ %, \d+ memor(y|ies), \d+ memor(y|ies)\/s, (time left unknown|(\d+[hms])+ left)/,
      );
    const { stdout, stderr } = await runCommand(['export', join(folder, 'other.ndjson'), ...at()], { env });
    expect([stdout, stderr]).toEqual(['', '']);
  });
});

describe('a command whose output is not read', () => {
  let dbPath: string;
  beforeAll(async () => {
    dbPath = newPath();
    const memory = await openMemory(dbPath, { embedder: 'none' });
    await memory.storeBatch(Array.from({ length: 400 }, (_, n) => ({ content: `${n} ${'word '.repeat(1000)}` })));
    await memory.close();
  });

  it('exits with 141 and no message when the reader closes the pipe', async () => {
    const command = `"${process.execPath}" "${serverPackage}" export --db-path "${dbPath}" | head -c 10; echo "|\${PIPESTATUS[0]}"`;
    const { stdout, stderr } = await run('bash', ['-c', command]);
    expect([stdout, stderr]).toEqual(['{"format":|141\n', '']);
  });

  it('exits with 141 and no message while printing the help', async () => {
    const command = `"${process.execPath}" "${serverPackage}" --help | exec 0<&-; echo "|\${PIPESTATUS[0]}"`;
    const { stdout, stderr } = await run('bash', ['-c', command]);
    expect([stdout, stderr]).toEqual(['|141\n', '']);
  });

  it('exits with 130 on SIGINT', async () => {
    const child = spawn(process.execPath, [serverPackage, 'export', '--db-path', dbPath], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    child.stderr.on('data', (piece) => {
      stderr += piece;
    });
    const exited = once(child, 'exit');
    // The pipe is full by then, and nothing reads more.
    await once(child.stdout, 'readable');
    child.kill('SIGINT');
    expect([...(await exited), stderr]).toEqual([130, null, 'interrupted\n']);
    child.stdout.destroy();
  });
});

describe('a command process', () => {
  /** Runs a command. Returns its exit and the URLs of the modules that its main thread loaded, one a line. */
  async function loadedBy(...args: string[]) {
    const folder = createTemporaryFolder();
    const [probe, list] = [join(folder, 'probe.mjs'), join(folder, 'loaded.txt')];
    writeFileSync(
      probe,
      `import { registerHooks } from 'node:module';
      import { writeFileSync } from 'node:fs';
      import { isMainThread } from 'node:worker_threads';
      const loaded = [];
      registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
      if (isMainThread) process.on('exit', () => writeFileSync(${JSON.stringify(list)}, loaded.join('\\n')));`,
    );
    const exit = await runCommand(args, { env: { ...env, NODE_OPTIONS: `--import ${pathToFileURL(probe)}` } });
    return { exit, loaded: readFileSync(list, 'utf8') };
  }

  const FASTIFY = /\/node_modules\/(fastify|@fastify\/[a-su-z][^/]*)\//;
  const DATABASE = /\/node_modules\/better-sqlite3\//;

  it('loads database code only if it opens a database, and no server code', async () => {
    const { loaded: stored } = await loadedBy('store', 'x', '--db-path', newPath());
    expect(stored).toMatch(DATABASE);
    expect(stored).not.toMatch(FASTIFY);
    for (const args of [['--help'], ['completion', 'bash'], ['stats', '--url', 'http://127.0.0.1:1234']]) {
      const { loaded } = await loadedBy(...args);
      expect(loaded).toMatch(/commander/);
      expect(loaded).not.toMatch(FASTIFY);
      expect(loaded).not.toMatch(DATABASE);
    }
  });

  it('loads server code for memoryd serve, and exits with the port and the fix if the port is in use', async () => {
    const server = await startClient({ env: WORDS_ONLY });
    const { port } = server.server;
    const { exit, loaded } = await loadedBy('serve', '--port', `${port}`, '--db-path', newPath());
    expect(loaded).toMatch(FASTIFY);
    expect([exit.code, exit.stderr]).toEqual([1, `port ${port} is already in use; choose another with --port\n`]);
    expect(await server.stats()).toMatchObject({ working_count: 0 });
    await server.server.stop();
  });
});
