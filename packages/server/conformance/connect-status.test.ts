import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readConnectStatus } from '../src/connect/connection-status.ts';
import { applyEdit } from '../src/connect/edit/edit.ts';
import { getOwnFiles } from '../src/connect/machine.ts';
import { applyPlan, planConnections } from '../src/connect/plan.ts';
import { AGENT_PROGRAMS } from '../src/connect/programs/index.ts';
import { readRecord } from '../src/connect/record.ts';
import { changePause } from '../src/connect/status.ts';
import { formatStatus } from '../src/connect/status-text.ts';
import { readTrust } from '../src/connect/trust.ts';
import type { Connection, Machine, ProgramName } from '../src/connect/types.ts';
import { checkConnections } from '../src/doctor/connections.ts';
import { freePort } from './process.ts';
import { createMachine } from './service-managers.ts';
import { useServer, WORDS_ONLY } from './under-test.ts';

/** Connects a program, as the command does. */
async function connect(machine: Machine, url: string, program: ProgramName, project?: string): Promise<void> {
  const connection: Connection = {
    ...{ program, url, user: 'ada', capture: 'prompts', recall: true, hasKey: false },
    ...(project !== undefined && { project }),
  };
  const record = readRecord(machine);
  await applyPlan(machine, record, planConnections(machine, record, { add: [connection] }));
}

/** Sends a prompt of the person to the hooks of a program. */
async function prompt(url: string, program: ProgramName, text: string): Promise<void> {
  const body = {
    hook_event_name: 'UserPromptSubmit',
    session_id: 's',
    prompt_id: text,
    cwd: '/home/ada/garden',
    prompt: text,
  };
  const response = await fetch(`${url}/hooks/${program}?user_id=ada&deadline_ms=10000`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
}

describe('the status of connected programs', () => {
  const client = useServer({ env: WORDS_ONLY });
  const getUrl = () => `http://127.0.0.1:${client.server.port}`;

  it('the status names files, trust, the last call and the counts of today, in JSON and as text', async () => {
    const machine = createMachine('linux');
    await connect(machine, getUrl(), 'claude-code');
    await prompt(getUrl(), 'claude-code', 'Ada plants quinces along the northern wall');
    const status = await readConnectStatus(machine);
    expect(status.accounts).toMatchObject([
      { url: getUrl(), user: 'ada', state: 'healthy', paused: false, ignored_folders: [] },
    ]);
    expect(status.programs).toMatchObject([
      {
        ...{ program: 'claude-code', title: 'Claude Code', project: null, trust: { state: 'unneeded' } },
        activity: { calls_today: 1, stored_today: 1, last_error: null },
      },
    ]);
    expect(status.programs[0]?.files.map(({ state }) => state)).toEqual(
      status.programs[0]?.files.map(() => 'unchanged'),
    );
    expect(status.programs[0]?.files).not.toEqual([]);
    const text = formatStatus(status).join('\n');
    expect(text).toMatch(/^memoryd \S+ at http:\S+ is healthy\nFor ada, the hooks are active$/m);
    expect(text).toMatch(/^Claude Code, for ada$/m);
    expect(text).toMatch(
      /^ +claude-code: last call just now; today 1 call, 1 stored, 0 given; p50 \S+ ms, p99 \S+ ms$/m,
    );
    const findings = await checkConnections({}, machine);
    expect(findings.map(({ check, state }) => [check, state])).toEqual([
      ['hooks', 'ok'],
      ['connect', 'ok'],
    ]);
    // The hooks of a service and user that doctor has reported are not reported again.
    expect(await checkConnections({ url: getUrl(), userId: 'ada' }, machine)).toEqual(findings.slice(1));
  });

  it('the status tells an edited file from a missing one, and doctor warns of the missing one', async () => {
    const machine = createMachine('linux');
    await connect(machine, getUrl(), 'claude-code');
    const [first, second] = readRecord(machine).files;
    writeFileSync(first?.path ?? '', `${readFileSync(first?.path ?? '', 'utf8')}\n`);
    rmSync(second?.path ?? '');
    const { programs } = await readConnectStatus(machine);
    expect(programs[0]?.files).toEqual([
      { path: first?.path, state: 'edited' },
      { path: second?.path, state: 'missing' },
    ]);
    expect((await checkConnections({}, machine)).at(-1)).toMatchObject({
      state: 'warning',
      found: expect.stringContaining(second?.path ?? ''),
    });
  });

  it('the status of a service that does not respond has the reason, and the last line of the hook log', async () => {
    const machine = createMachine('linux');
    const url = `http://127.0.0.1:${await freePort()}`;
    await connect(machine, url, 'opencode');
    mkdirSync(machine.folders.log, { recursive: true });
    writeFileSync(getOwnFiles(machine).log, 'an earlier day\n2026-11-29T12:00:00.000Z opencode connect ECONNREFUSED\n');
    const status = await readConnectStatus(machine);
    expect(status).toMatchObject({
      accounts: [{ url, state: 'unreachable', reason: expect.stringContaining(url) }],
      programs: [{ program: 'opencode', activity: null }],
      hook_log: '2026-11-29T12:00:00.000Z opencode connect ECONNREFUSED',
    });
    expect(formatStatus(status).join('\n')).toContain('opencode connect ECONNREFUSED');
    expect(formatStatus(status).join('\n')).toContain('calls unknown');
    expect((await checkConnections({}, machine))[0]).toMatchObject({ state: 'problem' });
  });

  it('the status without a connection says so, and doctor has no finding', async () => {
    const machine = createMachine('linux');
    expect(formatStatus(await readConnectStatus(machine))).toEqual([
      expect.stringContaining('No program is connected'),
    ]);
    expect(await checkConnections({}, machine)).toEqual([]);
  });

  it('a pause stores and gives nothing until it is resumed, and the status shows it', async () => {
    const machine = createMachine('linux');
    await connect(machine, getUrl(), 'claude-code');
    const { total } = await client.memories('user_id=ada');
    const request = { url: getUrl(), user: 'ada', machine };
    expect((await changePause({ ...request, paused: true })).join()).toContain('--resume');
    await prompt(getUrl(), 'claude-code', 'Ada sows carrots and radishes in one row');
    expect((await client.memories('user_id=ada')).total).toBe(total);
    const status = await readConnectStatus(machine);
    expect(status.accounts[0]?.paused).toBe(true);
    expect(formatStatus(status).join('\n')).toContain('paused');
    expect((await checkConnections({}, machine))[0]).toMatchObject({
      state: 'warning',
      advice: expect.stringContaining('--resume'),
    });
    await changePause({ ...request, paused: false });
    await prompt(getUrl(), 'claude-code', 'Ada sows leeks and onions in one row');
    expect((await client.memories('user_id=ada')).total).toBe(total + 1);
  });

  it('a paused folder ignores prompts from it and from below it, and names a folder above that stays ignored', async () => {
    const machine = createMachine('linux');
    const request = { url: getUrl(), user: 'ada', machine };
    await changePause({ ...request, paused: true, project: '/home/ada' });
    await changePause({ ...request, paused: true, project: '/home/ada/garden' });
    const { total } = await client.memories('user_id=ada');
    await prompt(getUrl(), 'claude-code', 'Ada mulches the strawberries with straw');
    expect((await client.memories('user_id=ada')).total).toBe(total);
    const lines = await changePause({ ...request, paused: false, project: '/home/ada/garden' });
    expect(lines).toEqual([
      'The hooks of ada no longer ignore /home/ada/garden.',
      expect.stringContaining('still ignore /home/ada,'),
    ]);
    expect(await changePause({ ...request, paused: false, project: '/home/ada' })).toHaveLength(1);
  });
});

describe('the trust of connected programs', () => {
  const getTrust = async (machine: Machine) => (await readConnectStatus(machine)).programs[0]?.trust.state;
  const url = 'http://127.0.0.1:9';

  // From `hooks/list` of the app server of Codex 0.171.
  const CODEX_DIGESTS = {
    session_start: 'a3776c754d098c13841c88413bb4ce113af64614aa95875480a300f91d865ae3',
    user_prompt_submit: '8bbe532d843ab70fafeac4f57a1c4ce816a43cbf4f6bd26c129e7b9034903251',
    stop: '83f71429b69a03cd3654296258bed94c9485912000857e4b600fcaf99a6f9b92',
    pre_compact: '7811c51e49240c019129fcc0dfaa22317fe9fedfd466b5935f2f35c80a6c45fa',
  };

  it('hooks of Codex are trusted only while its configuration has the digest of each of them', () => {
    const { home } = createMachine('linux');
    // Fixed paths, because the digests are those of the commands.
    const folders = { config: '/home/ada/.config/memoryd', log: '/home/ada/log' };
    const machine: Machine = { platform: 'linux', home, env: {}, node: '/usr/bin/node', folders };
    const connection: Connection = {
      ...{ program: 'codex', url: 'http://127.0.0.1:8090', user: 'ada', capture: 'turns', recall: true, hasKey: false },
    };
    for (const edit of AGENT_PROGRAMS.codex.getEdits(connection, machine)) {
      mkdirSync(dirname(edit.path), { recursive: true });
      writeFileSync(edit.path, applyEdit(undefined, edit).text ?? '');
    }
    const config = join(home, '.codex/config.toml');
    const before = readFileSync(config, 'utf8');
    const tables = Object.entries(CODEX_DIGESTS).map(([event, digest]) => {
      const key = JSON.stringify(`${join(home, '.codex/hooks.json')}:${event}:0:0`);
      return `[hooks.state.${key}]\ntrusted_hash = "sha256:${digest}"\n`;
    });
    const getState = (...texts: string[]) => {
      writeFileSync(config, [before, ...texts].join('\n'));
      return readTrust(connection, machine).state;
    };
    expect(getState()).toBe('untrusted');
    expect(getState(...tables)).toBe('trusted');
    expect(getState(...tables.slice(1))).toBe('untrusted');
    expect(getState(...tables, 'enabled = false')).toBe('untrusted');
    const changed = { ...connection, user: 'ben' };
    expect(readTrust(changed, machine)).toMatchObject({ state: 'unknown', text: expect.stringContaining('no hooks') });
  });

  it('files of a project are trusted if Claude Code and Gemini CLI recorded the trust of its folder', async () => {
    const claude = createMachine('linux');
    const project = join(claude.home, 'garden');
    await connect(claude, url, 'claude-code', project);
    expect(await getTrust(claude)).toBe('untrusted');
    writeFileSync(
      join(claude.home, '.claude.json'),
      JSON.stringify({ projects: { [claude.home]: { hasTrustDialogAccepted: true } } }),
    );
    expect(await getTrust(claude)).toBe('trusted');
    const gemini = createMachine('linux');
    const other = join(gemini.home, 'beds/north');
    await connect(gemini, url, 'gemini-cli', other);
    expect(await getTrust(gemini)).toBe('unknown');
    const rules = (value: object) => {
      mkdirSync(join(gemini.home, '.gemini'), { recursive: true });
      writeFileSync(join(gemini.home, '.gemini/trustedFolders.json'), JSON.stringify(value));
    };
    rules({ [join(gemini.home, 'beds/south')]: 'TRUST_PARENT' });
    expect(await getTrust(gemini)).toBe('trusted');
    rules({ [gemini.home]: 'TRUST_FOLDER', [other]: 'DO_NOT_TRUST' });
    expect(await getTrust(gemini)).toBe('untrusted');
  });

  it('a file that cannot be read leaves the trust unknown', async () => {
    const machine = createMachine('linux');
    await connect(machine, url, 'codex');
    writeFileSync(join(machine.home, '.codex/config.toml'), '[broken');
    expect(await getTrust(machine)).toBe('unknown');
  });
});
