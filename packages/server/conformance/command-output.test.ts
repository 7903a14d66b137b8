import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { RecallResponse } from '@memoryd/contract';
import { openMemory } from '@memoryd/engine';
import { beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from './command.ts';
import { answerHere } from './command-here.ts';
import { temporaryFolder } from './folders.ts';
import { startClient, useServer, WORDS_ONLY } from './under-test.ts';

const serverPackage = fileURLToPath(new URL('..', import.meta.url));
const newPath = () => join(temporaryFolder(), 'memory.db');
const env = { SERVICE_EMBEDDER: 'none' };

/** Runs a program until it ends, while a server of this process goes on answering. */
async function run(program: string, args: string[], variables: Record<string, string> = {}) {
  const child = spawn(program, args, {
    env: { PATH: process.env.PATH ?? '', ...env, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, stdout, stderr };
}

/** Runs a command with a terminal for all of its streams, and returns what the terminal shows. */
async function onTerminal(args: string[], variables: Record<string, string> = {}): Promise<string> {
  const command = [process.execPath, serverPackage, ...args].map((word) => `'${word}'`).join(' ');
  const terminal = { TERM: 'xterm-256color', COLUMNS: '80' };
  return (await run('script', ['-qefc', command, '/dev/null'], { ...terminal, ...variables })).stdout;
}

const hasScript = spawnSync('script', ['--version']).status === 0;
// biome-ignore lint/suspicious/noConsole: what is left out is said
if (!hasScript) console.warn('no script(1): what terminals are shown is not tested');

const BOLD = '\u001b[1m';

describe('output', () => {
  const memoryd = useServer({ env: WORDS_ONLY });
  const at = () => ['--url', `http://127.0.0.1:${memoryd.server.port}`];
  beforeAll(async () => {
    await memoryd.store({ content: 'red \u001b[31m alert\u202e\nnext' });
    await memoryd.store({ content: `long ${'word '.repeat(100)}` });
  });

  it('for people obeys no control character of a memory, and is JSON of its very text for programs', async () => {
    const { stdout } = await runCommand(['recall', 'alert', ...at()], { env });
    expect(stdout).toContain('red \\u{1b}[31m alert\\u{202e} next');
    const { results } = await answerHere<RecallResponse>(['recall', 'alert', ...at()], { env });
    expect(results[0]?.content).toBe('red \u001b[31m alert\u202e\nnext');
  });

  it.runIf(existsSync('/dev/full'))('that a file does not take is told in a line', async () => {
    for (const verb of ['stats', 'export']) {
      const command = `'${process.execPath}' '${serverPackage}' ${verb} ${at().join(' ')} > /dev/full`;
      const { code, stderr } = await run('sh', ['-c', command]);
      expect([code, stderr]).toEqual([6, 'standard output cannot be written (ENOSPC)\n']);
    }
  });

  it.runIf(hasScript)('has colours and cut lines on a terminal alone, and no colours with NO_COLOR', async () => {
    const args = ['recall', 'long word', ...at()];
    const shown = await onTerminal(args);
    expect(shown).toContain(BOLD);
    expect(shown).toContain('…');
    expect(await onTerminal(args, { NO_COLOR: '1' })).not.toContain('\u001b[');
    const { stdout } = await runCommand(args, { env });
    expect(stdout).not.toContain('\u001b[');
    expect(stdout).toContain('word '.repeat(99));
  });

  it.runIf(hasScript)('tells on a terminal how far it has come, how fast, and what is left', async () => {
    const folder = temporaryFolder();
    const terminal = await onTerminal(['export', join(folder, 'one.ndjson'), ...at()]);
    const drawn = terminal.split('\u001b').filter((piece) => piece.includes('exporting'));
    // No speed is known when the first is drawn.
    expect(drawn[0]).toContain(', time left unknown');
    for (const bar of drawn)
      expect(bar).toMatch(
        /exporting \[[^\]]+\] \d+ %, \d+ memor(y|ies), \d+ memor(y|ies)\/s, (time left unknown|(\d+[hms])+ left)/,
      );
    const { stdout, stderr } = await runCommand(['export', join(folder, 'other.ndjson'), ...at()], { env });
    expect([stdout, stderr]).toEqual(['', '']);
  });
});

describe('output that nobody takes', () => {
  let dbPath: string;
  beforeAll(async () => {
    dbPath = newPath();
    const memory = await openMemory(dbPath, { embedder: 'none' });
    await memory.storeBatch(Array.from({ length: 400 }, (_, n) => ({ content: `${n} ${'word '.repeat(1000)}` })));
    await memory.close();
  });

  it('ends a command with 141, without a word, when its reader has gone', async () => {
    const command = `"${process.execPath}" "${serverPackage}" export --db-path "${dbPath}" | head -c 10; echo "|\${PIPESTATUS[0]}"`;
    const { stdout, stderr } = await run('bash', ['-c', command]);
    expect([stdout, stderr]).toEqual(['{"format":|141\n', '']);
  });

  it('ends help in the same way', async () => {
    const command = `"${process.execPath}" "${serverPackage}" --help | exec 0<&-; echo "|\${PIPESTATUS[0]}"`;
    const { stdout, stderr } = await run('bash', ['-c', command]);
    expect([stdout, stderr]).toEqual(['|141\n', '']);
  });

  it('does not keep a command from ending with 130 when it is told to', async () => {
    const child = spawn(process.execPath, [serverPackage, 'export', '--db-path', dbPath], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    child.stderr.on('data', (piece) => {
      stderr += piece;
    });
    const exited = once(child, 'exit');
    // As much as fits into the pipe is written by then, and no more is read.
    await once(child.stdout, 'readable');
    child.kill('SIGINT');
    expect([...(await exited), stderr]).toEqual([130, null, 'interrupted\n']);
    child.stdout.destroy();
  });
});

describe('a command', () => {
  /** Runs a command, and returns its exit and the addresses of the modules that its main thread has loaded, a line each. */
  async function loadedBy(...args: string[]) {
    const folder = temporaryFolder();
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

  it('loads a database only where it opens one, and nothing that serves', async () => {
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

  it('that serves loads what it needs for that, and where it cannot listen says which port is taken and what to do', async () => {
    const server = await startClient({ env: WORDS_ONLY });
    const { port } = server.server;
    const { exit, loaded } = await loadedBy('serve', '--port', `${port}`, '--db-path', newPath());
    expect(loaded).toMatch(FASTIFY);
    expect([exit.code, exit.stderr]).toEqual([1, `port ${port} is taken; use --port\n`]);
    expect(await server.stats()).toMatchObject({ working_count: 0 });
    await server.server.stop();
  });
});
