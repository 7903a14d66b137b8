import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommand } from './command.ts';
import { createTemporaryFolder } from './folders.ts';
import { freePort } from './process.ts';
import { useServer, WORDS_ONLY } from './under-test.ts';

const CODEX = '# my model\nmodel = "gpt-5"\n';

/** Returns a home folder in which Codex and Claude Code are installed, and the environment of a command in it. */
function createHome() {
  const home = createTemporaryFolder();
  mkdirSync(join(home, '.codex'));
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
  return { home, connect, read: (path: string) => readFileSync(join(home, path), 'utf8') };
}

describe('memoryd connect', () => {
  const client = useServer({ env: WORDS_ONLY });

  it('connects programs whose hooks then store a prompt and give it back, and removes every trace', async () => {
    const { home, connect, read } = createHome();
    const { code, stdout } = await connect('codex', 'claude-code', '--url', client.url, '--user', 'ada');
    expect(code).toBe(0);
    expect(stdout).toContain('+[mcp_servers.memoryd]');
    expect(stdout).toContain(`Codex is connected as ada at ${client.url}.`);
    expect(stdout).toContain('Trust all and continue');
    expect(read('.codex/config.toml')).toBe(`${CODEX}\n[mcp_servers.memoryd]\nurl = "${client.url}/mcp?user_id=ada"\n`);
    const { hooks } = JSON.parse(read('.codex/hooks.json'));
    const run = (prompt: string, session: string) =>
      spawnSync('/bin/sh', ['-c', `${hooks.UserPromptSubmit[0].hooks[0].command}`], {
        input: JSON.stringify({
          hook_event_name: 'UserPromptSubmit',
          session_id: session,
          turn_id: session,
          cwd: home,
          prompt,
        }),
        encoding: 'utf8',
      });
    expect(run('Ada is allergic to peanuts', 'a')).toMatchObject({ status: 0, stderr: '' });
    await expect.poll(() => run('What is Ada allergic to?', 'b').stdout).toContain('Ada is allergic to peanuts');
    const off = await connect('codex', '--capture', 'off');
    expect(off.stdout).toMatch(
      /\d memor(y|ies) from Codex stay stored\. To forget them: memoryd forget .* --source codex --yes/,
    );
    expect(read('.codex/hooks.json')).toContain('user_id=ada&capture=off');
    expect(await connect('--remove')).toMatchObject({ code: 0 });
    expect(readdirSync(home, { recursive: true }).sort()).toEqual([
      '.claude',
      '.claude/settings.json',
      '.codex',
      '.codex/config.toml',
      '.config',
    ]);
    expect(read('.codex/config.toml')).toBe(CODEX);
    expect(read('.claude/settings.json')).toBe('{}\n');
  });

  it('says that a program is connected already, and keeps the options of before', async () => {
    const { connect, read } = createHome();
    await connect('codex', '--url', client.url, '--user', 'ada', '--capture', 'turns', '--budget', '900');
    const before = read('.codex/hooks.json');
    const { code, stdout } = await connect('codex');
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('codex is already connected') });
    expect(read('.codex/hooks.json')).toBe(before);
    expect(before).toContain('user_id=ada&capture=turns&budget=900');
  });

  it('shows the changes and writes nothing with --dry-run', async () => {
    const { home, connect, read } = createHome();
    const { code, stdout, stderr } = await connect('codex', '--url', client.url, '--dry-run');
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'Nothing was written, because of --dry-run.\n' });
    expect(stdout).toContain('+[mcp_servers.memoryd]');
    expect(read('.codex/config.toml')).toBe(CODEX);
    expect(readdirSync(home).sort()).toEqual(['.claude', '.codex']);
  });

  it('leaves a file with a syntax error alone, names its line, and fails', async () => {
    const { home, connect, read } = createHome();
    const broken = `${CODEX}model = "twice"\n`;
    writeFileSync(join(home, '.codex/config.toml'), broken);
    const { code, stdout } = await connect('codex', '--url', client.url);
    expect(code).toBe(1);
    expect(stdout).toContain('config.toml is left as it is: line 3 is not valid TOML');
    expect(stdout).toContain('codex is connected in part. Correct the file named above, and run the command again.');
    expect(read('.codex/config.toml')).toBe(broken);
  });

  it('connects although no service runs, and says how to start one', async () => {
    const { connect } = createHome();
    const url = `http://127.0.0.1:${await freePort()}`;
    const { code, stdout } = await connect('codex', '--url', url, '--no-service');
    expect(code).toBe(0);
    expect(stdout).toContain(`No service runs at ${url}. Start one with memoryd serve`);
  });

  it.each([
    [[], 'memoryd connect needs the name of a program; installed are claude-code, codex'],
    [['codexx'], "unknown program 'codexx' (Did you mean codex?)"],
    [['codex', '--budget', '10'], '--budget must be a whole number of tokens from 50 to 20000'],
    [['codex', '--url', 'ftp://x'], '--url must'],
    [['codex', '--user', ''], '--user must be a name of 1 to 256 characters'],
    [['codex', '--project'], '--project needs the folder of a project'],
    [['codex', '--remove'], 'codex is not connected'],
    [['--remove'], 'no program is connected'],
    [['codex', '--remove', '--pause'], "option '--pause' cannot be used with option '--remove'"],
    [['codex', '--pause'], 'leave out the names of programs'],
  ])('refuses %j, and writes nothing', async (args, message) => {
    const { home, connect } = createHome();
    const { code, stderr } = await connect(...args);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
    expect(readdirSync(home).sort()).toEqual(['.claude', '.codex']);
    expect(existsSync(join(home, '.codex/hooks.json'))).toBe(false);
  });
});
