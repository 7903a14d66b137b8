import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { RecallResponse } from '@memoryd/contract';
import { beforeAll, describe, expect, it } from 'vitest';
import { answerOf, runCommand } from './command.ts';
import { eventually, launch, startServer, temporaryFolder } from './process.ts';
import { WORDS_ONLY } from './under-test.ts';

/** For tests that run many processes. */
const PATIENCE_MS = 240_000;

const serverPackage = fileURLToPath(new URL('..', import.meta.url));
const newPath = () => join(temporaryFolder(), 'memory.db');
const env = { SERVICE_EMBEDDER: 'none' };

/** Runs a command with a terminal for all of its streams, and answers what the terminal shows. */
function onTerminal(args: string[], variables: Record<string, string> = {}): string {
  const command = [process.execPath, serverPackage, ...args].map((word) => `'${word}'`).join(' ');
  const { stdout } = spawnSync('script', ['-qefc', command, '/dev/null'], {
    env: { PATH: process.env.PATH ?? '', TERM: 'xterm-256color', COLUMNS: '80', ...env, ...variables },
    encoding: 'utf8',
    input: '',
  });
  return stdout;
}

const hasScript = spawnSync('script', ['--version']).status === 0;
// biome-ignore lint/suspicious/noConsole: what is left out is said
if (!hasScript) console.warn('no script(1): what terminals are shown is not tested');

const BOLD = '\u001b[1m';

describe('output', { timeout: PATIENCE_MS }, () => {
  let dbPath: string;
  beforeAll(async () => {
    dbPath = newPath();
    await runCommand(['store', 'red \u001b[31m alert\u202e\nnext', '--db-path', dbPath], { env });
    await runCommand(['store', `long ${'word '.repeat(100)}`, '--db-path', dbPath], { env });
  });

  it('for people obeys no control character of a memory, and is JSON of its very text for programs', async () => {
    const { stdout } = await runCommand(['recall', 'alert', '--db-path', dbPath], { env });
    expect(stdout).toContain('red \\u{1b}[31m alert\\u{202e} next');
    const { results } = await answerOf<RecallResponse>(['recall', 'alert', '--db-path', dbPath], { env });
    expect(results[0]?.content).toBe('red \u001b[31m alert\u202e\nnext');
  });

  it.runIf(existsSync('/dev/full'))('that a file does not take is told in a line', async () => {
    for (const verb of ['stats', 'export']) {
      const command = `'${process.execPath}' '${serverPackage}' ${verb} --db-path '${dbPath}' > /dev/full`;
      const { status, stderr } = spawnSync('sh', ['-c', command], {
        env: { ...process.env, ...env },
        encoding: 'utf8',
      });
      expect([status, stderr]).toEqual([6, 'standard output cannot be written (ENOSPC)\n']);
    }
  });

  it.runIf(hasScript)('has colours and cut lines on a terminal alone, and no colours with NO_COLOR', async () => {
    const args = ['recall', 'long word', '--db-path', dbPath];
    const shown = onTerminal(args);
    expect(shown).toContain(BOLD);
    expect(shown).toContain('…');
    expect(onTerminal(args, { NO_COLOR: '1' })).not.toContain('\u001b[');
    const { stdout } = await runCommand(args, { env });
    expect(stdout).not.toContain('\u001b[');
    expect(stdout).toContain('word '.repeat(99));
  });

  it.runIf(hasScript)('tells on a terminal how far it has come, how fast, and what is left', async () => {
    const folder = temporaryFolder();
    expect(onTerminal(['export', join(folder, 'one.ndjson'), '--db-path', dbPath])).toMatch(
      /exporting \[[^\]]+\] \d+ %, \d+ memories, \d+ memories\/s, \S+ left/,
    );
    const { stdout, stderr } = await runCommand(['export', join(folder, 'other.ndjson'), '--db-path', dbPath], { env });
    expect([stdout, stderr]).toEqual(['', '']);
  });

  describe('that nobody takes', () => {
    let big: string;
    beforeAll(async () => {
      big = newPath();
      const input = Array.from({ length: 400 }, (_, n) => `${n} ${'word '.repeat(1000)}\n`);
      await runCommand(['store', '--lines', '--db-path', big], { env, input });
    }, PATIENCE_MS);

    it('ends a command with 141, without a word, when its reader has gone', () => {
      const command = `"${process.execPath}" "${serverPackage}" export --db-path "${big}" | head -c 10; echo "|\${PIPESTATUS[0]}"`;
      const { stdout, stderr } = spawnSync('bash', ['-c', command], { encoding: 'utf8' });
      expect([stdout, stderr]).toEqual(['{"format":|141\n', '']);
    });

    it('ends help in the same way', () => {
      const command = `"${process.execPath}" "${serverPackage}" --help | exec 0<&-; echo "|\${PIPESTATUS[0]}"`;
      const { stdout, stderr } = spawnSync('bash', ['-c', command], { encoding: 'utf8' });
      expect([stdout, stderr]).toEqual(['|141\n', '']);
    });

    it('does not keep a command from ending with 130 when it is told to', async () => {
      const child = spawn(process.execPath, [serverPackage, 'export', '--db-path', big], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let stderr = '';
      child.stderr.on('data', (text) => {
        stderr += text;
      });
      const exited = once(child, 'exit');
      // As much as fits into the pipe is written by then, and no more is read.
      await once(child.stdout, 'readable');
      child.kill('SIGINT');
      expect([...(await exited), stderr]).toEqual([130, null, 'interrupted\n']);
      child.stdout.destroy();
    });
  });
});

describe('a command', { timeout: PATIENCE_MS }, () => {
  /** Modules that a command has loaded when it ends, by the packages that they are of. */
  async function loadedBy(...args: string[]): Promise<string> {
    const folder = temporaryFolder();
    const [probe, list] = [join(folder, 'probe.mjs'), join(folder, 'loaded.txt')];
    writeFileSync(
      probe,
      `import Module from 'node:module';
      import { writeFileSync } from 'node:fs';
      import { isMainThread } from 'node:worker_threads';
      if (isMainThread) process.on('exit', () => writeFileSync(${JSON.stringify(list)}, Object.keys(Module._cache).join('\\n')));`,
    );
    const run = launch(args, { ...env, NODE_OPTIONS: `--import ${pathToFileURL(probe)}` });
    run.endInput();
    if (args[0] === 'serve') {
      await eventually('the start', 30_000, () => run.lines().find((line) => line.includes('server_started')));
      await run.end('SIGTERM');
    }
    await run.exited;
    return readFileSync(list, 'utf8');
  }

  const FASTIFY = /\/node_modules\/(fastify|@fastify\/[a-su-z][^/]*)\//;
  const DATABASE = /\/node_modules\/better-sqlite3\//;

  it('loads what it needs: a database only where it opens one, and what serves only where it serves', async () => {
    const dbPath = newPath();
    const stored = await loadedBy('store', 'x', '--db-path', dbPath);
    expect(stored).toMatch(DATABASE);
    expect(stored).not.toMatch(FASTIFY);
    for (const args of [['--help'], ['completion', 'bash'], ['stats', '--url', 'http://127.0.0.1:1234']]) {
      const loaded = await loadedBy(...args);
      expect(loaded).toMatch(/commander/);
      expect(loaded).not.toMatch(FASTIFY);
      expect(loaded).not.toMatch(DATABASE);
    }
    expect(await loadedBy('serve', '--port', '0', '--db-path', dbPath)).toMatch(FASTIFY);
  });

  it('that cannot listen says which port is taken and what to do', async () => {
    const server = await startServer({ env: WORDS_ONLY });
    const { code, stderr } = await runCommand(['--port', `${server.port}`, '--db-path', newPath()], { env });
    expect([code, stderr]).toEqual([1, `port ${server.port} is taken; use --port\n`]);
    await server.stop();
  });
});
