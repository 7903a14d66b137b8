import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createTemporaryFolder } from './folders.ts';
import { send } from './http.ts';
import { eventually, launch, runServer } from './process.ts';

const serverPackage = fileURLToPath(new URL('..', import.meta.url));
const hasScript = spawnSync('script', ['--version']).status === 0;
// biome-ignore lint/suspicious/noConsole: reports that a test is skipped
if (!hasScript) console.warn('no script(1): the banner of a terminal is not tested');

const env = { SERVICE_EMBEDDER: 'none', SERVICE_PORT: '0' };
const START_TIMEOUT_MS = 30_000;

/** Starts a service with a terminal for its standard streams. Resolves with its address when it shows the banner. */
async function startOnTerminal(dbPath: string, variables: Record<string, string> = {}) {
  const command = `exec '${process.execPath}' '${serverPackage}' serve --db-path '${dbPath}'`;
  // The arguments that `launch` adds are no part of the script.
  const under = ['sh', '-c', `exec script -qefc "${command}" /dev/null`];
  const terminal = launch([], { ...env, TERM: 'xterm', ...variables }, { under });
  const url = await eventually('the banner', START_TIMEOUT_MS, () => {
    return /Dashboard +(http:\S+)\/ui[\s\S]*Press Ctrl\+C to stop/.exec(terminal.output())?.[1];
  });
  return { terminal, url };
}

/** The byte that a terminal sends for Ctrl+C. */
const CTRL_C = '\u0003';

describe('memoryd serve', () => {
  it.runIf(hasScript)('shows a banner and readable log lines on a terminal, and stops at Ctrl+C', async () => {
    const dbPath = join(createTemporaryFolder(), 'memory.db');
    const { terminal, url } = await startOnTerminal(dbPath);
    expect(terminal.output()).toContain('\u001b[1mmemoryd ');
    expect(terminal.output()).toContain(`Data       ${dbPath}`);
    expect(await send(Number(new URL(url).port), { path: '/recall?query=peanuts' })).toMatchObject({ status: 200 });
    terminal.write(CTRL_C);
    const { stdout } = await terminal.exited;
    expect(stdout).toMatch(/query completed.*latency_ms=/);
    expect(stdout).toContain('server stopped');
    expect(stdout).not.toContain('{"level"');
  });

  it.runIf(hasScript)('shows no colors on a terminal with NO_COLOR', async () => {
    const { terminal } = await startOnTerminal(join(createTemporaryFolder(), 'memory.db'), { NO_COLOR: '1' });
    terminal.write(CTRL_C);
    expect((await terminal.exited).stdout).not.toContain('\u001b[');
  });

  it('writes only JSON log records to a pipe', async () => {
    const server = launch(['serve', '--db-path', join(createTemporaryFolder(), 'memory.db')], env);
    await eventually('the start', START_TIMEOUT_MS, () => server.output().includes('server_started') || undefined);
    const { code, stdout, stderr } = await server.end('SIGINT');
    expect([code, stderr]).toEqual([0, '']);
    const records = stdout.trimEnd().split('\n');
    expect(records.map((line) => JSON.parse(line).event)).toEqual([
      'server_started',
      'any_origin_allowed',
      'server_stopping',
      'server_stopped',
    ]);
  });

  it.each([
    { option: '--stop-with-stdin', flags: ['--stop-with-stdin'], cause: 'end of standard input' },
    { option: 'no option', flags: [], cause: 'SIGTERM' },
  ])('logs the cause "$cause" of a stop after the end of stdin, with $option', async ({ flags, cause }) => {
    const dbPath = join(createTemporaryFolder(), 'memory.db');
    const server = launch(['serve', '--db-path', dbPath, ...flags], env);
    const url = await eventually('the start', START_TIMEOUT_MS, () => {
      return /"server_started","url":"([^"]*)"/.exec(server.output())?.[1];
    });
    server.endInput();
    if (cause === 'SIGTERM') {
      expect(await send(Number(new URL(url).port), { path: '/health' })).toMatchObject({ status: 200 });
      await server.end('SIGTERM');
    }
    const { code, stdout } = await server.exited;
    expect(code).toBe(0);
    expect(stdout).toContain(`"event":"server_stopping","cause":"${cause}"`);
    expect(stdout).toContain('"event":"server_stopped"');
  });

  it.each(['/dev/null', '/etc/passwd', '/', '&-'])(
    'refuses --stop-with-stdin with standard input < %s',
    async (input) => {
      const dbPath = join(createTemporaryFolder(), 'memory.db');
      const under = ['sh', '-c', `exec "$@" <${input}`, 'sh'];
      const { code, stderr } = await runServer(['serve', '--db-path', dbPath, '--stop-with-stdin'], env, { under });
      expect(code).toBe(2);
      expect(stderr).toContain('--stop-with-stdin requires a pipe or a terminal as standard input');
      expect(existsSync(dbPath)).toBe(false);
    },
  );

  it('logs the cause of a stop before the start', async () => {
    const dbPath = join(createTemporaryFolder(), 'memory.db');
    const under = ['sh', '-c', 'true | "$@"', 'sh'];
    const { code, stdout } = await runServer(['serve', '--db-path', dbPath, '--stop-with-stdin'], env, { under });
    expect(code).toBe(0);
    expect(stdout).toContain('"event":"server_stopping","cause":"end of standard input"');
  });
});

it('npm start prints a message before it builds', () => {
  const { scripts } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
  expect(scripts.start).toMatch(/^echo Building memoryd … >&2 && npm run --silent build >&2 && node packages\/server$/);
});
