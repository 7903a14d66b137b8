import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runCommand } from './command.ts';
import { createTemporaryFolder } from './folders.ts';
import { freePort } from './process.ts';
import { useServer, WORDS_ONLY } from './under-test.ts';

const serverPackage = fileURLToPath(new URL('..', import.meta.url));
const hasScript = spawnSync('script', ['--version']).status === 0;

const CODEX = '# my model\nmodel = "gpt-5"\n';

/** Returns a home folder in which Codex and Claude Code are installed, and the environment of a command in it. */
function createHome() {
  // Letters beyond ASCII and a space, because many names of people have them.
  const home = join(createTemporaryFolder(), 'Jürgen L');
  mkdirSync(join(home, '.codex'), { recursive: true });
  writeFileSync(join(home, '.codex/config.toml'), CODEX);
  mkdirSync(join(home, '.claude'));
  writeFileSync(join(home, '.claude/settings.json'), '{}\n');
  // Without folders that the machine of the test may name, and without its programs.
  const names = ['CLAUDE_CONFIG_DIR', 'CODEX_HOME', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'SERVICE_URL'];
  const env = {
    ...Object.fromEntries(names.map((name) => [name, ''])),
    ...{ PATH: dirname(process.execPath), HOME: home, USERPROFILE: home },
  };
  const connect = (...args: string[]) => runCommand(['connect', ...args], { env, cwd: home });
  return { home, env, connect, read: (path: string) => readFileSync(join(home, path), 'utf8') };
}

/** Runs a command line of a hook as an agent program does. */
async function runShell(command: string, input: object) {
  const child = spawn('/bin/sh', ['-c', command]);
  child.stdin.end(JSON.stringify(input));
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, stdout, stderr };
}

describe('memoryd connect', () => {
  const memoryd = useServer({ env: WORDS_ONLY });
  const getUrl = () => `http://127.0.0.1:${memoryd.server.port}`;

  it('connects programs whose hooks then store a prompt and give it back, and removes every trace', async () => {
    const { home, connect, read } = createHome();
    const { code, stdout } = await connect('codex', 'claude-code', '--url', getUrl(), '--user', 'ada');
    expect(code).toBe(0);
    expect(stdout).toContain('+[mcp_servers.memoryd]');
    expect(stdout).toContain(`Codex is connected as ada at ${getUrl()}.`);
    expect(stdout).toContain('Trust all and continue');
    expect(read('.codex/config.toml')).toBe(`${CODEX}\n[mcp_servers.memoryd]\nurl = "${getUrl()}/mcp?user_id=ada"\n`);
    const { hooks } = JSON.parse(read('.codex/hooks.json'));
    const [{ command }] = hooks.UserPromptSubmit[0].hooks;
    const type = (prompt: string, id: string) =>
      runShell(command, { hook_event_name: 'UserPromptSubmit', session_id: id, turn_id: id, cwd: home, prompt });
    expect(await type('Ada is allergic to peanuts', 'a')).toMatchObject({ code: 0, stderr: '' });
    // A session of its own for each try, because a memory is given once in a session.
    let count = 0;
    const getContext = async () => (await type('What is Ada allergic to?', `b${count++}`)).stdout;
    await expect.poll(getContext).toContain('Ada is allergic to peanuts');
    const off = await connect('codex', '--capture', 'off');
    expect(off.stdout).toMatch(
      /Still stored from Codex: \d memor(y|ies)\. To forget all of them: memoryd forget .* --source codex --yes/,
    );
    expect(read('.codex/hooks.json')).toContain('user_id=ada&capture=off');
    expect(await connect('--remove')).toMatchObject({ code: 0 });
    const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    expect(files.map(({ name }) => name).sort()).toEqual(['config.toml', 'settings.json']);
    expect(readdirSync(join(home, '.config'))).toEqual([]);
    expect(read('.codex/config.toml')).toBe(CODEX);
    expect(read('.claude/settings.json')).toBe('{}\n');
  });

  it('says that a program is connected already, and keeps the options of before', async () => {
    const { connect, read } = createHome();
    await connect('codex', '--url', getUrl(), '--user', 'ada', '--capture', 'turns', '--budget', '900');
    const before = read('.codex/hooks.json');
    const { code, stdout } = await connect('codex');
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('codex is already connected') });
    expect(read('.codex/hooks.json')).toBe(before);
    expect(before).toContain('user_id=ada&capture=turns&budget=900');
  });

  it('shows the changes and writes nothing with --dry-run', async () => {
    const { home, connect, read } = createHome();
    const { code, stdout, stderr } = await connect('codex', '--url', getUrl(), '--dry-run');
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'Nothing was written, because of --dry-run.\n' });
    expect(stdout).toContain('+[mcp_servers.memoryd]');
    expect(read('.codex/config.toml')).toBe(CODEX);
    expect(readdirSync(home).sort()).toEqual(['.claude', '.codex']);
  });

  it('leaves a file with a syntax error alone, names its line, and fails', async () => {
    const { home, connect, read } = createHome();
    const broken = `${CODEX}model = "twice"\n`;
    writeFileSync(join(home, '.codex/config.toml'), broken);
    const { code, stdout } = await connect('codex', '--url', getUrl());
    expect(code).toBe(1);
    expect(stdout).toContain('config.toml is left as it is: line 3 is not valid TOML');
    expect(stdout).toContain('codex is connected in part. Correct the file named above, and run the command again.');
    expect(read('.codex/config.toml')).toBe(broken);
    writeFileSync(join(home, '.codex/hooks.json'), '{');
    const removed = await connect('codex', '--remove');
    expect(removed.code).toBe(1);
    expect(removed.stdout).toContain('codex stays connected in part. Correct the file named above');
  });

  it.runIf(hasScript)(
    'asks on a terminal which of the installed programs to connect, and before it writes',
    async () => {
      const { home, env, read } = createHome();
      const answer = async (...answers: string[]) => {
        const command = [process.execPath, serverPackage, 'connect', '--url', getUrl(), '--user', 'ada'];
        const child = spawn(
          '/usr/bin/env',
          ['script', '-qefc', command.map((word) => `'${word}'`).join(' '), '/dev/null'],
          {
            env: { ...env, PATH: process.env.PATH, TERM: 'dumb' },
            cwd: home,
          },
        );
        let output = '';
        for await (const piece of child.stdout.setEncoding('utf8')) {
          output += piece;
          if (/(all\]:|\[Y\/n\]) $/.test(output)) child.stdin.write(answers.shift() ?? '\u0004');
        }
        return output;
      };
      const output = await answer('2\n', 'n\n');
      expect(output).toContain('1  Claude Code (claude-code)');
      expect(output).toContain('+[mcp_servers.memoryd]');
      expect(output).not.toContain('Codex is connected');
      expect(readdirSync(home).sort()).toEqual(['.claude', '.codex']);
      expect(await answer('codex\n', '\n')).toContain('Codex is connected as ada');
      expect(read('.codex/config.toml')).toContain('[mcp_servers.memoryd]');
      expect(await answer('none\n')).not.toContain('connected as');
      expect(await answer('\u0003')).not.toContain('connected as');
      expect(read('.claude/settings.json')).toBe('{}\n');
    },
  );

  it('connects another program to the same service as the same user', async () => {
    const { connect } = createHome();
    await connect('codex', '--url', getUrl(), '--user', 'zoe');
    const { stdout } = await connect('claude-code');
    expect(stdout).toContain(`Claude Code is connected as zoe at ${getUrl()}.`);
  });

  it('connects another program to the same service if the users of the others differ', async () => {
    const { connect } = createHome();
    await connect('codex', '--url', getUrl(), '--user', 'zoe');
    await connect('gemini-cli', '--user', 'yan');
    expect((await connect('claude-code')).stdout).toContain(`at ${getUrl()}.`);
  });

  it('pauses and resumes the hooks of every connected user', async () => {
    const { connect } = createHome();
    await connect('codex', '--url', getUrl(), '--user', 'pia');
    await connect('gemini-cli', '--user', 'pat');
    const isPaused = (user: string) => memoryd.get<{ paused: boolean }>(`/hooks?user_id=${user}`);
    expect((await connect('--pause')).stdout).toMatch(/hooks of pia .*\n.*hooks of pat /);
    for (const user of ['pia', 'pat']) expect(await isPaused(user)).toMatchObject({ paused: true });
    await connect('--resume');
    for (const user of ['pia', 'pat']) expect(await isPaused(user)).toMatchObject({ paused: false });
  });

  it('removes the rest if a link has replaced a folder that it made', async () => {
    const { home, connect, env } = createHome();
    const cwd = join(home, 'garden');
    mkdirSync(cwd);
    await runCommand(['connect', 'cursor', '--project', '--url', getUrl()], { env, cwd });
    const rules = join(cwd, '.cursor/rules');
    rmSync(rules, { recursive: true });
    symlinkSync(createTemporaryFolder(), rules);
    expect(await runCommand(['connect', '--project', '--remove'], { env, cwd })).toMatchObject({ code: 0, stderr: '' });
    expect(readdirSync(join(cwd, '.cursor'))).toEqual(['rules']);
    expect((await connect('--status')).stdout).not.toContain('Cursor');
  });

  it('says in a project that the hooks of the user run there', async () => {
    const { home, connect, env } = createHome();
    await connect('codex', '--url', getUrl());
    const cwd = join(home, 'garden');
    mkdirSync(cwd);
    const { stdout } = await runCommand(['connect', 'codex', '--project', '--capture', 'off'], { env, cwd });
    expect(stdout).toContain('The hooks of Codex for the user run in this folder too');
    expect(stdout).toContain('To store nothing here: memoryd connect --project --pause.');
  });

  it('keeps both connections of two commands at once', async () => {
    const { home, connect, read } = createHome();
    const results = await Promise.all(
      ['codex', 'claude-code'].map((program) => connect(program, '--url', getUrl(), '--user', 'Jürgen')),
    );
    expect(results.map(({ code }) => code)).toEqual([0, 0]);
    expect(results[0]?.stdout).toContain(`+++ ${join(home, '.codex/config.toml')}`);
    const status = await connect('--status');
    expect(status.stdout).toContain('Codex, for Jürgen');
    expect(status.stdout).toContain('Claude Code, for Jürgen');
    expect(await connect('--remove')).toMatchObject({ code: 0 });
    expect(read('.codex/config.toml')).toBe(CODEX);
    expect(readdirSync(home).sort()).toEqual(['.claude', '.codex', '.config']);
  });

  it('connects although no service runs, and says how to start one', async () => {
    const { connect } = createHome();
    const url = `http://127.0.0.1:${await freePort()}`;
    const { code, stdout } = await connect('codex', '--url', url, '--no-service');
    expect(code).toBe(0);
    expect(stdout).toContain(`No service runs at ${url}. Start one with memoryd serve`);
    expect(stdout).toMatch(/nothing is stored or given until one does\.\n$/);
  });

  it.each([
    [[], 'memoryd connect needs the name of a program; installed are claude-code, codex'],
    [['codexx'], "unknown program 'codexx' (Did you mean codex?)"],
    [['codex', '--budget', '10'], '--budget must be a whole number of tokens from 50 to 20000'],
    [['codex', '--url', 'ftp://x'], '--url must'],
    [['codex', '--url', 'http://x/y?z'], '--url must be the address of a service, without a query or fragment'],
    [['codex', '--user', ''], '--user must be a name of 1 to 256 characters'],
    [['codex', '--project'], '--project needs the folder of a project'],
    [['codex', '--remove'], 'codex is not connected'],
    [['--remove'], 'no program is connected'],
    [['codex', '--remove', '--pause'], "option '--remove' cannot be used with option '--pause'"],
    [['codex', '--pause'], 'leave out the names of programs'],
    [['codex', '--status'], 'leave out the names of programs'],
  ])('refuses %j, and writes nothing', async (args, message) => {
    const { home, connect } = createHome();
    const { code, stderr } = await connect(...args);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
    expect(readdirSync(home).sort()).toEqual(['.claude', '.codex']);
    expect(existsSync(join(home, '.codex/hooks.json'))).toBe(false);
  });
});
