import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toConnection } from './connection.fixture.ts';
import { applyPlan, planConnections } from './plan.ts';
import { readRecord } from './record.ts';
import { recoverConnections } from './recover.ts';
import { type Connection, type Machine, PROGRAMS, type ProgramName } from './types.ts';

let home: string;
let machine: Machine;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'memoryd-connect-'));
  machine = {
    platform: process.platform,
    env: {},
    home,
    node: process.execPath,
    folders: { config: join(home, 'own', 'config'), log: join(home, 'own', 'log') },
  };
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

const FILES: Readonly<Record<string, string>> = {
  '.claude.json': '{\n  "numStartups": 7,\n  "mcpServers": { "other": { "command": "other" } }\n}',
  '.claude/settings.json':
    '\uFEFF{\r\n\t// my hooks\r\n\t"hooks": {\r\n\t\t"Stop": [{ "hooks": [{ "type": "command", "command": "say done" }] }], // last\r\n\t},\r\n}',
  '.codex/config.toml': '# my model\nmodel = "gpt-5"\n\n[projects."/p"]\ntrust_level = "trusted"',
  '.gemini/settings.json': '{"mcpServers": {"memory": {"command": "x"}}}\n',
  '.cursor/mcp.json': '',
  '.config/opencode/opencode.jsonc': '{\n  // theme\n  "theme": "dark",\n}\n',
};

function write(name: string, text: string) {
  mkdirSync(dirname(join(home, name)), { recursive: true });
  writeFileSync(join(home, name), text);
}

const read = (name: string) => readFileSync(join(home, name), 'utf8');

/** Returns the bytes of all files below the home folder, and the empty folders, without those of memoryd. */
function snapshot(folder = home): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder, { withFileTypes: true, recursive: true })
      .map((entry) => ({ entry, path: join(entry.parentPath, entry.name) }))
      .filter(({ path }) => !relative(home, path).startsWith('own'))
      .map(({ entry, path }) => [relative(home, path), entry.isFile() ? readFileSync(path, 'latin1') : 'folder']),
  );
}

function change(changes: Parameters<typeof planConnections>[2]) {
  const record = readRecord(machine);
  return applyPlan(machine, record, planConnections(machine, record, changes));
}
const connect = (...add: Connection[]) => change({ add });
const disconnect = (...remove: { program: ProgramName; project?: string }[]) => change({ remove });

describe('connect', () => {
  it('remove leaves every file and folder of every program as it was before connect', async () => {
    for (const [name, text] of Object.entries(FILES)) write(name, text);
    mkdirSync(join(home, 'project', '.git', 'info'), { recursive: true });
    write('project/.git/info/exclude', '# mine\n*.log');
    const before = snapshot();
    const project = join(home, 'project');
    const all = [
      ...PROGRAMS.map((program) => toConnection(program)),
      ...PROGRAMS.map((program) => toConnection(program, { project })),
    ];
    const { skipped } = await connect(...all);
    expect(skipped).toEqual([]);
    expect(snapshot()).not.toEqual(before);
    const others = await disconnect(...all);
    expect(others.skipped).toEqual([]);
    expect(snapshot()).toEqual(before);
    expect(readRecord(machine)).toMatchObject({ connections: [], files: [] });
  });

  it('connect writes nothing the second time, and keeps the time of the first connect', async () => {
    for (const [name, text] of Object.entries(FILES)) write(name, text);
    await connect(...PROGRAMS.map((program) => toConnection(program)));
    const after = snapshot();
    const record = readRecord(machine);
    expect(await connect(...PROGRAMS.map((program) => toConnection(program)))).toEqual({ changed: [], skipped: [] });
    expect(snapshot()).toEqual(after);
    expect(readRecord(machine)).toEqual(record);
  });

  it('connect replaces the entries of other options, and remove still returns to the first original', async () => {
    write('.claude/settings.json', FILES['.claude/settings.json'] ?? '');
    const before = snapshot();
    await connect(toConnection('claude-code'));
    await connect(toConnection('claude-code', { user: 'ben', capture: 'turns', budget: 900 }));
    const text = read('.claude/settings.json');
    expect(text).not.toContain('user_id=ada');
    expect(text).toContain('user_id=ben&capture=turns&budget=900');
    await connect(toConnection('claude-code', { capture: 'off', recall: false }));
    expect(read('.claude/settings.json')).toBe(FILES['.claude/settings.json']);
    await disconnect({ program: 'claude-code' });
    expect(snapshot()).toEqual(before);
  });

  it('remove takes only its own entries out of a file that the program or the person has rewritten', async () => {
    write('.claude.json', FILES['.claude.json'] ?? '');
    await connect(toConnection('claude-code'));
    const rewritten = { ...JSON.parse(read('.claude.json')), numStartups: 8, projects: { '/p': {} } };
    write('.claude.json', JSON.stringify(rewritten, null, 2));
    const hooks = JSON.parse(read('.claude/settings.json'));
    write('.claude/settings.json', JSON.stringify({ ...hooks, model: 'opus' }));
    expect(await connect(toConnection('claude-code'))).toEqual({ changed: [], skipped: [] });
    await disconnect({ program: 'claude-code' });
    expect(JSON.parse(read('.claude.json'))).toEqual({
      numStartups: 8,
      mcpServers: { other: { command: 'other' } },
      projects: { '/p': {} },
    });
    expect(read('.claude/settings.json')).toBe('{"model":"opus"}');
  });

  it('remove keeps the entries of the other program in a file that two programs share', async () => {
    await connect(toConnection('vscode'), toConnection('copilot-cli'));
    const shared = read('.copilot/hooks/memoryd.json');
    await disconnect({ program: 'vscode' });
    expect(read('.copilot/hooks/memoryd.json')).toBe(shared);
    await disconnect({ program: 'copilot-cli' });
    expect(snapshot()).toEqual({});
  });

  it('connect keeps the mode of a file and the link that leads to it', async () => {
    write('dotfiles/settings.json', '{}');
    chmodSync(join(home, 'dotfiles/settings.json'), 0o640);
    mkdirSync(join(home, '.claude'));
    symlinkSync('../dotfiles/settings.json', join(home, '.claude/settings.json'));
    symlinkSync('dotfiles/missing.json', join(home, '.claude.json'));
    await connect(toConnection('claude-code'));
    expect(read('dotfiles/settings.json')).toContain('hook.cjs');
    expect(read('dotfiles/missing.json')).toContain('mcpServers');
    expect(statSync(join(home, '.claude/settings.json')).mode & 0o777).toBe(0o640);
    await disconnect({ program: 'claude-code' });
    expect(read('.claude/settings.json')).toBe('{}');
    expect(existsSync(join(home, 'dotfiles/missing.json'))).toBe(false);
    expect(readdirSync(home)).toContain('.claude.json');
  });

  it('connect leaves a file with a syntax error alone, names its line, and changes the other files', async () => {
    write('.claude/settings.json', '{\n  "model": \n}\n');
    const { skipped } = await connect(toConnection('claude-code'));
    expect(skipped).toEqual([]);
    const plan = planConnections(machine, readRecord(machine), { add: [toConnection('claude-code')] });
    expect(plan.skipped).toMatchObject([
      { path: join(home, '.claude/settings.json'), reason: expect.stringContaining('line 3 is not valid JSON') },
    ]);
    expect(read('.claude/settings.json')).toBe('{\n  "model": \n}\n');
    expect(read('.claude.json')).toContain('memoryd');
  });

  it('remove keeps a connection whose file it cannot change back, until the file is correct again', async () => {
    await connect(toConnection('codex'));
    const text = read('.codex/config.toml');
    write('.codex/config.toml', `model = = 1\n${text}`);
    await disconnect({ program: 'codex' });
    expect(readRecord(machine).connections).toMatchObject([{ program: 'codex' }]);
    expect(read('.codex/config.toml')).toBe(`model = = 1\n${text}`);
    write('.codex/config.toml', `model = 1\n${text}`);
    await disconnect({ program: 'codex' });
    expect(readRecord(machine)).toMatchObject({ connections: [], files: [] });
    expect(read('.codex/config.toml')).toBe('model = 1\n');
  });

  it('connect keeps a copy of a file that only the user can read, for as long as the file is connected', async () => {
    write('.codex/config.toml', FILES['.codex/config.toml'] ?? '');
    await connect(toConnection('codex'));
    const folder = join(machine.folders.config, 'backups');
    const [name = ''] = readdirSync(folder);
    expect(readFileSync(join(folder, name), 'utf8')).toBe(FILES['.codex/config.toml']);
    expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    await disconnect({ program: 'codex' });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('connect never replaces a file of the same name that someone else wrote', async () => {
    write('.config/opencode/plugins/memoryd.js', 'export const Mine = 1;\n');
    const plan = planConnections(machine, readRecord(machine), { add: [toConnection('opencode')] });
    expect(plan.skipped).toMatchObject([
      { path: join(home, '.config/opencode/plugins/memoryd.js'), reason: expect.stringContaining('did not write it') },
    ]);
  });

  it('connect keeps memories that a session has put into the rules of Cursor, and remove deletes the file', async () => {
    const project = join(home, 'project');
    mkdirSync(project);
    const connection = toConnection('cursor', { project });
    await connect(connection);
    const rules = join(project, '.cursor/rules/memoryd.mdc');
    writeFileSync(rules, `${readFileSync(rules, 'utf8')}Ada is allergic to peanuts.\n`);
    expect(await connect(connection)).toEqual({ changed: [], skipped: [] });
    expect(readFileSync(rules, 'utf8')).toContain('peanuts');
    await disconnect(connection);
    expect(readdirSync(project)).toEqual([]);
  });

  it('connect makes no folder at the end of a link', async () => {
    mkdirSync(join(home, '.claude'));
    symlinkSync(join(home, 'gone', 'settings.json'), join(home, '.claude', 'settings.json'));
    const { skipped } = await connect(toConnection('claude-code'));
    expect(skipped).toMatchObject([{ reason: expect.stringContaining('whose folder does not exist') }]);
    expect(existsSync(join(home, 'gone'))).toBe(false);
    await disconnect({ program: 'claude-code' });
    expect(readRecord(machine)).toMatchObject({ connections: [], files: [] });
  });

  it('remove leaves a file alone that the person has written in place of the file of memoryd', async () => {
    await connect(toConnection('opencode'));
    write('.config/opencode/plugins/memoryd.js', 'export const mine = 1;\n');
    await disconnect({ program: 'opencode' });
    expect(read('.config/opencode/plugins/memoryd.js')).toBe('export const mine = 1;\n');
  });

  describe('after the record is lost', () => {
    const loseRecord = () => rmSync(join(home, 'own', 'config', 'connect.json'));
    const recover = async (...ids: { program: ProgramName; project?: string }[]) => {
      const record = readRecord(machine);
      recoverConnections(machine, record, ids);
      return record;
    };

    it('remove takes out the entries of every program, and keeps those of the person', async () => {
      for (const [name, text] of Object.entries(FILES)) write(name, text);
      const before = snapshot();
      const ids = PROGRAMS.filter((program) => program !== 'claude-desktop').map((program) => ({ program }));
      await connect(...ids.map(({ program }) => toConnection(program, { capture: 'turns' })));
      loseRecord();
      const record = await recover(...ids);
      expect(record.connections).toMatchObject(ids.map(({ program }) => ({ program, user: 'ada', capture: 'turns' })));
      await applyPlan(machine, record, planConnections(machine, record, { remove: ids }));
      const after = snapshot();
      for (const text of Object.values(after)) expect(text).not.toMatch(/memoryd|hook\.cjs/);
      for (const [name, text] of Object.entries(before)) {
        expect(after[name]?.replaceAll(/\s/g, '')).toBe(text.replaceAll(/\s/g, '') || '{}');
      }
    });

    it('connect replaces the entries of other options', async () => {
      await connect(toConnection('codex', { capture: 'turns', budget: 900 }));
      loseRecord();
      const record = await recover({ program: 'codex' });
      expect(record.connections).toMatchObject([{ url: 'http://127.0.0.1:8090', capture: 'turns', budget: 900 }]);
      await applyPlan(machine, record, planConnections(machine, record, { add: [toConnection('codex')] }));
      expect(read('.codex/hooks.json').match(/hook\.cjs/g)).toHaveLength(3);
      expect(read('.codex/config.toml').match(/memoryd\]/g)).toHaveLength(1);
    });

    it('a server that the person has written is no evidence of a connection', async () => {
      write('.cursor/mcp.json', '{"mcpServers": {"memoryd": {"url": "http://127.0.0.1:8090/mcp?user_id=ada"}}}');
      write(
        '.cursor/hooks.json',
        '{"hooks": {"stop": [{"command": "node /other/hook.cjs http://x/hooks/y?user_id=a"}]}}',
      );
      expect(await recover(...PROGRAMS.map((program) => ({ program })))).toMatchObject({ connections: [], files: [] });
    });
  });
});
