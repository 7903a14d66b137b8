import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isInstalled } from '../../../deploy/tools.ts';
import { readRecord } from '../src/connect/record.ts';
import { launchd } from '../src/connect/service/launchd.ts';
import { ensureService, removeService } from '../src/connect/service/service.ts';
import { toArguments } from '../src/connect/service/service-command.ts';
import { systemd } from '../src/connect/service/systemd.ts';
import {
  describeInstallation,
  findObstacle,
  getServiceState,
  type InstalledService,
  installService,
  removeInstalledService,
} from '../src/connect/service/user-service.ts';
import type { Machine } from '../src/connect/types.ts';
import { getProgramPath } from '../src/program-path.ts';
import { runCommand } from './command.ts';
import { freePort } from './process.ts';
import { createMachine, type MachineUnderTest } from './service-managers.ts';

const script = getProgramPath();

const getCommand = async ({ home }: MachineUnderTest) => ({
  ...{ node: process.execPath, script, port: await freePort() },
  dbPath: join(home, 'memoryd/memory.db'),
});

/** Returns the paths of all files and folders in a folder. */
const getPaths = (folder: string) => readdirSync(folder, { recursive: true }).sort();

/** Installs a service, which is removed after the test. */
async function install(machine: MachineUnderTest, earlier?: InstalledService) {
  const command = await getCommand(machine);
  const installed = await installService(machine, command, earlier);
  onTestFinished(async () => void (await removeInstalledService(machine, installed)));
  return { command, installed };
}

const PLATFORMS = [
  { platform: 'linux', name: 'systemd', folder: '.config', file: '.config/systemd/user/memoryd.service' },
  { platform: 'darwin', name: 'launchd', folder: 'Library', file: 'Library/LaunchAgents/memoryd.plist' },
] as const;

describe.each(PLATFORMS)('a service of the user under $name', ({ platform, folder, file }) => {
  it('an installed service answers at once, and leaves only its database when it is removed', async () => {
    const machine = createMachine(platform);
    const { command, installed } = await install(machine);
    expect(installed.file).toBe(join(machine.home, file));
    expect((await fetch(`http://127.0.0.1:${command.port}/health`)).status).toBe(200);
    expect(await getServiceState(machine, installed)).toMatchObject({ fileState: 'unchanged', isRunning: true });
    expect((await describeInstallation(machine, installed)).join('\n')).toContain(command.dbPath);
    const lines = await removeInstalledService(machine, installed);
    expect(lines.join('\n')).toContain(`The memories stay in ${command.dbPath}.`);
    await expect(fetch(`http://127.0.0.1:${command.port}/health`)).rejects.toThrow();
    expect(getPaths(machine.home).filter((path) => String(path).startsWith(folder))).toEqual([]);
    expect(existsSync(command.dbPath)).toBe(true);
    expect(await getServiceState(machine, installed)).toMatchObject({ fileState: 'missing', isRunning: false });
    expect((await removeInstalledService(machine, installed))[0]).toContain('removed already');
  });

  it('a service keeps running when it is installed again, and restarts for another port', async () => {
    const machine = createMachine(platform);
    const { command, installed } = await install(machine);
    const calls = machine.getCalls('systemctl').length;
    expect(await installService(machine, command, installed)).toEqual(installed);
    expect(machine.getCalls('systemctl').filter((call) => call.includes('restart'))).toHaveLength(
      platform === 'linux' ? 1 : 0,
    );
    expect(machine.getCalls('systemctl').length).toBeGreaterThanOrEqual(calls);
    const port = await freePort();
    const moved = await installService(machine, { ...command, port }, installed);
    expect(readFileSync(moved.file, 'utf8')).toBe(moved.text);
    expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200);
    await expect(fetch(`http://127.0.0.1:${command.port}/health`)).rejects.toThrow();
    await removeInstalledService(machine, moved);
  });

  it('removing leaves a service alone whose file was edited', async () => {
    const machine = createMachine(platform);
    const { command, installed } = await install(machine);
    writeFileSync(installed.file, `${installed.text}\n`);
    expect((await removeInstalledService(machine, installed))[0]).toContain('was edited');
    expect((await fetch(`http://127.0.0.1:${command.port}/health`)).status).toBe(200);
    writeFileSync(installed.file, installed.text);
  });

  it('installing fails if the file exists and somebody else wrote it, and leaves the file alone', async () => {
    const machine = createMachine(platform);
    const path = join(machine.home, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, 'mine');
    await expect(installService(machine, await getCommand(machine))).rejects.toThrow(`${path} exists`);
    expect(readFileSync(path, 'utf8')).toBe('mine');
  });

  it('installing fails if the service manager does not run, and the error names the command that starts a service', async () => {
    const machine = createMachine(platform);
    machine.set('offline');
    await expect(installService(machine, await getCommand(machine))).rejects.toThrow('memoryd serve');
    expect(getPaths(machine.home)).toEqual([]);
  });
});

describe('a service of the user', () => {
  it('installing fails on Windows, and the error names the command that starts a service', async () => {
    const machine = createMachine('win32');
    expect(await findObstacle(machine, await getCommand(machine))).toContain('memoryd serve');
  });

  it.each([
    ['npx', '.npm/_npx/1a2b', 'npm install -g memoryd'],
    [
      'uvx',
      '.cache/uv/archive-v0/1a2b/lib/python3.13/site-packages/memoryd_server/service',
      'uv tool install memoryd-server',
    ],
  ])(
    'installing fails in the cache of %s, and the error names the command that installs memoryd',
    async (_, folder, install) => {
      const machine = createMachine('linux');
      const script = `/home/ada/${folder}/node_modules/memoryd/bin/memoryd.mjs`;
      await expect(installService(machine, { ...(await getCommand(machine)), script })).rejects.toThrow(install);
      expect(getPaths(machine.home)).toEqual([]);
    },
  );

  it('installing leaves no file if systemd does not start the service', async () => {
    const machine = createMachine('linux');
    machine.set('refuses');
    await expect(installService(machine, await getCommand(machine))).rejects.toThrow('Job for memoryd.service failed');
    expect(getPaths(machine.home)).toEqual([]);
  });

  it('removing keeps the file if systemd does not stop the service', async () => {
    const machine = createMachine('linux');
    const installed = await installService(machine, await getCommand(machine));
    machine.set('stays');
    await expect(removeInstalledService(machine, installed)).rejects.toThrow('Failed to disable unit');
    expect(readFileSync(installed.file, 'utf8')).toBe(installed.text);
    machine.unset('stays');
    await removeInstalledService(machine, installed);
  });

  it('a path with a line feed is refused, because it would add a setting to the file', () => {
    const command = { node: 'node', script, port: 8090, dbPath: '/tmp/a\nExecStartPre=/bin/sh' };
    expect(() => toArguments(command)).toThrow('control character');
  });
});

describe('the files of a service of the user', () => {
  const command = { node: process.execPath, script, port: 8090, dbPath: `/home/ada's 100% "home"/$x & <y>\\memory.db` };

  it.runIf(isInstalled('systemd-analyze'))('the unit passes systemd-analyze verify without a warning', () => {
    const machine = createMachine('linux');
    const path = systemd.getFile(machine);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, systemd.formatFile(command, machine));
    const env = { ...process.env, HOME: machine.home, XDG_RUNTIME_DIR: machine.home };
    expect(execFileSync('systemd-analyze', ['--user', 'verify', path], { env, encoding: 'utf8', stdio: 'pipe' })).toBe(
      '',
    );
  });

  it.runIf(isInstalled('python3'))('the property list has all arguments for another program that reads it', () => {
    const machine = createMachine('darwin');
    const read = 'import json, plistlib, sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))';
    const input = launchd.formatFile(command, machine);
    const list = JSON.parse(execFileSync('python3', ['-c', read], { input, encoding: 'utf8' }));
    expect(list).toEqual({
      Label: 'memoryd',
      ProgramArguments: [...toArguments(command), '--log-level', 'warn'],
      WorkingDirectory: machine.home,
      RunAtLoad: true,
      KeepAlive: { SuccessfulExit: false },
      Umask: 0o077,
      ExitTimeOut: 30,
      StandardOutPath: join(machine.home, 'Library/Logs/memoryd.log'),
      StandardErrorPath: join(machine.home, 'Library/Logs/memoryd.log'),
    });
  });

  it('the property list follows its document type', () => {
    const list = launchd.formatFile(command, createMachine('darwin'));
    expect(list).toMatch(
      /^<\?xml version="1\.0" encoding="UTF-8"\?>\n<!DOCTYPE plist PUBLIC "-\/\/Apple\/\/DTD PLIST 1\.0\/\/EN"/,
    );
    expect(isPropertyList(list)).toBe(true);
    expect(isPropertyList(list.replace('<key>Label</key>', ''))).toBe(false);
  });
});

/** Returns whether a text follows the document type of property lists, without attributes: `dict` has pairs of `key` and value. */
function isPropertyList(text: string): boolean {
  let body = text.replace(/^<\?xml.*\n<!DOCTYPE.*\n<!--.*-->\n/, '').replaceAll(/>\s+</g, '><');
  const value = /<(string|integer|key)>[^<]*<\/\1>|<(?:true|false)\/>/g;
  body = body.replace(value, (all, name) => (name === 'key' ? 'K' : 'V').padEnd(1, all));
  for (let before = ''; before !== body; ) {
    before = body;
    body = body.replace(/<dict>(?:KV)*<\/dict>|<array>V*<\/array>/g, 'V');
  }
  return body.trim() === '<plist version="1.0">V</plist>';
}

const createLinuxMachine = () => createMachine('linux');

describe('the service of memoryd connect', () => {
  const getUrl = async () => `http://127.0.0.1:${await freePort()}`;
  /** A machine whose settings name a database in its own home folder. */
  const createMachine = () => {
    const machine = createLinuxMachine();
    return { ...machine, env: { ...machine.env, SERVICE_DB_PATH: join(machine.home, 'memoryd/memory.db') } };
  };

  it('a service is installed if the person agrees, is recorded, and is removed once', async () => {
    const machine = createMachine();
    const url = await getUrl();
    const questions: string[] = [];
    const confirm = async (question: string) => questions.push(question) > 0;
    onTestFinished(async () => void (await removeService(machine)));
    const lines = await ensureService({ url, machine, confirm });
    expect(questions).toEqual([expect.stringContaining(`No service runs at ${url}. Install one`)]);
    expect(lines.join('\n')).toContain(join(machine.home, '.config/systemd/user/memoryd.service'));
    expect(lines.join('\n')).toContain('loginctl enable-linger');
    expect(await ensureService({ url, machine, confirm })).toEqual([]);
    expect((await ensureService({ url, machine, install: true }))[0]).toContain('runs now');
    expect(questions).toHaveLength(1);
    expect((await removeService(machine)).join('\n')).toContain('The memories stay in');
    expect(readRecord(machine).service).toBe(undefined);
    expect(await removeService(machine)).toEqual([]);
  });

  it.each([
    { answer: 'the person declines', options: { confirm: async () => false } },
    { answer: 'nobody can be asked', options: {} },
    { answer: 'the flag says no', options: { install: false } },
  ])('no service is installed if $answer, and the lines say how to start one', async ({ options }) => {
    const machine = createMachine();
    const lines = await ensureService({ url: await getUrl(), machine, ...options });
    expect(lines.join('\n')).toContain('memoryd serve');
    expect(getPaths(machine.home)).toEqual([]);
  });

  it('no service is installed for another address, another database or an occupied port', async () => {
    const machine = createMachine();
    const refuse = (url: string, message: string, env: Machine['env'] = {}) =>
      expect(
        ensureService({ url, machine: { ...machine, env: { ...machine.env, ...env } }, install: true }),
      ).rejects.toThrow(message);
    await refuse('https://memoryd.example', 'https://memoryd.example is another address');
    const postgres = { SERVICE_DB_PATH: undefined, SERVICE_DATABASE_URL: 'postgres://ada:secret@127.0.0.1:1/memories' };
    const url = await getUrl();
    await refuse(url, 'start the service yourself', postgres);
    await expect(
      ensureService({ url, machine: { ...machine, env: { ...machine.env, ...postgres } }, install: true }),
    ).rejects.not.toThrow('secret');
    const other = createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    await refuse(`http://127.0.0.1:${(other.address() as AddressInfo).port}`, 'is in use by');
    expect(getPaths(machine.home)).toEqual([]);
  });

  it('settings in variables of the shell are named, because the service does not read them', async () => {
    const machine = createMachine();
    const env = { ...machine.env, SERVICE_EMBEDDER: 'none' };
    const lines = await ensureService({ url: await getUrl(), machine: { ...machine, env }, install: true });
    onTestFinished(async () => void (await removeService(machine)));
    expect(lines.at(-1)).toContain('SERVICE_EMBEDDER');
    expect(lines.at(-1)).toContain(join(machine.home, 'memoryd.config.json'));
  });

  it('a connection with a service leaves only its database when it is removed', async () => {
    const machine = createMachine();
    const { home } = machine;
    mkdirSync(join(home, '.config'));
    writeFileSync(join(home, '.config/notes.txt'), 'mine');
    const env = Object.fromEntries(Object.entries(machine.env).map(([name, value]) => [name, value ?? '']));
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await runCommand(['connect', ...args], { env: { ...env, XDG_DATA_HOME: home } });
      expect(code, stderr).toBe(0);
      return stdout;
    };
    const url = await getUrl();
    const connected = await run('claude-code', 'claude-desktop', '--user', 'ada', '--url', url, '--service');
    expect(connected).toContain('The service runs now');
    expect(connected).toContain('memoryd.mcpb');
    const status = JSON.parse(await run('--status', '--json'));
    expect(status).toMatchObject({
      accounts: [{ url, user: 'ada', state: 'healthy' }],
      programs: [{ program: 'claude-code' }, { program: 'claude-desktop' }],
      installed_service: { manager: 'systemd', isRunning: true, fileState: 'unchanged' },
    });
    expect(await run('--remove')).toContain('The memories stay in');
    await expect(fetch(`${url}/health`)).rejects.toThrow();
    const left = getPaths(home).map(String);
    const others = left.filter((path) => !path.startsWith('memoryd') && !path.startsWith('.cache'));
    expect(others).toEqual(['.config', '.config/notes.txt']);
  });
});
