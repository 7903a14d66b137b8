import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'smol-toml';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toConnection } from '../connection.fixture.ts';
import { applyEdit } from '../edit/edit.ts';
import { type Connection, type Machine, PROGRAMS, type ProgramName } from '../types.ts';
import { AGENT_PROGRAMS, getConnectionEdits } from './index.ts';

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'memoryd-programs-'));
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

const linux = (env: Machine['env'] = {}): Machine => ({
  platform: 'linux',
  env,
  home,
  node: '/usr/bin/node',
  folders: { config: join(home, '.config/memoryd'), log: join(home, '.local/state/memoryd') },
});

const windows: Machine = {
  platform: 'win32',
  env: { APPDATA: 'C:\\Users\\Ada L\\AppData\\Roaming' },
  home: 'C:\\Users\\Ada L',
  node: 'C:\\Program Files\\nodejs\\node.exe',
  folders: { config: 'C:\\Users\\Ada L\\AppData\\Roaming\\memoryd\\Config', log: 'C:\\Users\\Ada L\\log' },
};

const mac: Machine = {
  platform: 'darwin',
  env: {},
  home: '/Users/ada',
  node: '/opt/homebrew/bin/node',
  folders: { config: '/Users/ada/Library/Preferences/memoryd', log: '/Users/ada/Library/Logs/memoryd' },
};

describe('the folder of the conversations of an agent program', () => {
  it.each([
    ['claude-code', { ...mac, env: { CLAUDE_CONFIG_DIR: '/data/claude' } }, '/data/claude/projects'],
    ['claude-code', windows, 'C:\\Users\\Ada L\\.claude\\projects'],
    ['codex', { ...mac, env: { CODEX_HOME: '/data/codex' } }, '/data/codex/sessions'],
    ['codex', mac, '/Users/ada/.codex/sessions'],
    ['gemini-cli', { ...mac, env: { GEMINI_CLI_HOME: '/data' } }, '/data/.gemini/tmp'],
    ['gemini-cli', mac, '/Users/ada/.gemini/tmp'],
  ] as const)('the folder of the conversations of %s is where the program puts it', (program, machine, folder) => {
    expect(AGENT_PROGRAMS[program].getConversationFolder?.(machine)).toBe(folder);
  });
});

/** Returns the text of each file that a connection writes where no file exists, by its path. */
function getTexts(connection: Connection, machine: Machine): Record<string, string> {
  const edits = AGENT_PROGRAMS[connection.program].getEdits(connection, machine);
  return Object.fromEntries(edits.map((edit) => [edit.path, applyEdit(undefined, edit).text ?? '']));
}

const getPaths = (connection: Connection, machine: Machine) => Object.keys(getTexts(connection, machine));

describe('the files of an agent program', () => {
  it.each([
    ['claude-code', ['.claude.json', '.claude/settings.json']],
    ['codex', ['.codex/config.toml', '.codex/hooks.json']],
    ['gemini-cli', ['.gemini/settings.json']],
    ['antigravity', ['.gemini/config/mcp_config.json', '.gemini/config/hooks.json']],
    ['opencode', ['.config/opencode/opencode.json', '.config/opencode/plugins/memoryd.js']],
    ['cursor', ['.cursor/mcp.json', '.cursor/hooks.json']],
    ['vscode', ['.config/Code/User/mcp.json', '.copilot/hooks/memoryd.json']],
    ['copilot-cli', ['.copilot/mcp-config.json', '.copilot/hooks/memoryd.json']],
    ['claude-desktop', []],
  ] as const)('the files of %s are below the home folder for a user', (program, files) => {
    expect(getPaths(toConnection(program), linux())).toEqual(files.map((file) => join(home, file)));
  });

  it.each([
    ['claude-code', ['.mcp.json', '.claude/settings.local.json']],
    ['codex', ['.codex/config.toml', '.codex/hooks.json']],
    ['gemini-cli', ['.gemini/settings.json']],
    ['antigravity', ['.agents/mcp_config.json', '.agents/hooks.json']],
    ['opencode', ['opencode.json', '.opencode/plugins/memoryd.js']],
    ['cursor', ['.cursor/mcp.json', '.cursor/hooks.json', '.cursor/rules/memoryd.mdc']],
    ['vscode', ['.vscode/mcp.json', '.github/hooks/memoryd.json']],
    ['copilot-cli', ['.github/mcp.json', '.github/hooks/memoryd.json']],
  ] as const)('the files of %s are in the folder of a project', (program, files) => {
    const project = join(home, 'garden');
    expect(getPaths(toConnection(program, { project }), linux())).toEqual(files.map((file) => join(project, file)));
  });

  it('the files follow the variables that the programs honor', () => {
    const folders = {
      CLAUDE_CONFIG_DIR: '/c',
      CODEX_HOME: '/x',
      GEMINI_CLI_HOME: '/g',
      XDG_CONFIG_HOME: '/d',
      COPILOT_HOME: '/p',
    };
    const paths = PROGRAMS.flatMap((program) => getPaths(toConnection(program), linux(folders)));
    expect(paths).toEqual(
      expect.arrayContaining([
        '/c/.claude.json',
        '/c/settings.json',
        '/x/config.toml',
        '/g/.gemini/settings.json',
        '/d/opencode/opencode.json',
        '/d/Code/User/mcp.json',
        '/p/mcp-config.json',
      ]),
    );
    expect(getPaths(toConnection('opencode'), linux({ ...folders, OPENCODE_CONFIG_DIR: '/o' }))[0]).toBe(
      '/o/opencode.json',
    );
  });

  it('the files are where Windows and macOS have them', () => {
    expect(getPaths(toConnection('vscode'), windows)[0]).toBe(
      'C:\\Users\\Ada L\\AppData\\Roaming\\Code\\User\\mcp.json',
    );
    expect(getPaths(toConnection('codex'), windows)[0]).toBe('C:\\Users\\Ada L\\.codex\\config.toml');
    expect(getPaths(toConnection('vscode'), mac)[0]).toBe('/Users/ada/Library/Application Support/Code/User/mcp.json');
    expect(getPaths(toConnection('opencode'), mac)[0]).toBe('/Users/ada/.config/opencode/opencode.json');
  });
});

describe('the entries of an agent program', () => {
  it('the entries name the server by HTTP in the form of each program', () => {
    const url = 'http://127.0.0.1:8090/mcp?user_id=ada';
    const texts = PROGRAMS.map((program) => getTexts(toConnection(program), linux()));
    const servers = texts.flatMap((files) => Object.entries(files)).filter(([, text]) => text.includes('/mcp?'));
    const values = servers.map(([path, text]) => (path.endsWith('.toml') ? parse(text) : JSON.parse(text)));
    expect(values).toMatchObject([
      { mcpServers: { memoryd: { type: 'http', url } } },
      { mcp_servers: { memoryd: { url } } },
      { mcpServers: { memoryd: { httpUrl: url, timeout: 5000 } } },
      { mcpServers: { memoryd: { serverUrl: url } } },
      { mcp: { memoryd: { type: 'remote', url, enabled: true, timeout: 5000 } } },
      { mcpServers: { memoryd: { url } } },
      { servers: { memoryd: { type: 'http', url } } },
      { mcpServers: { memoryd: { type: 'http', url, tools: ['*'] } } },
    ]);
  });

  it.each([
    ['claude-code', ['SessionStart', 'UserPromptSubmit', 'PreCompact'], 'Stop'],
    ['codex', ['SessionStart', 'UserPromptSubmit', 'PreCompact'], 'Stop'],
    ['gemini-cli', ['SessionStart', 'BeforeAgent', 'PreCompress'], 'AfterAgent'],
    ['cursor', ['sessionStart', 'beforeSubmitPrompt', 'preCompact'], 'afterAgentResponse'],
    ['copilot-cli', ['SessionStart', 'UserPromptSubmit', 'PreCompact'], 'Stop'],
  ] as const)('the hooks of %s register the end of a turn only to store answers', (program, events, end) => {
    const getEvents = (options: Partial<Connection>) => {
      const texts = Object.values(getTexts(toConnection(program, options), linux()));
      const hooks = texts.filter((text) => text.includes('hook.cjs')).map((text) => JSON.parse(text).hooks);
      return Object.keys(hooks[0] ?? {}).sort();
    };
    expect(getEvents({})).toEqual([...events].sort());
    expect(getEvents({ capture: 'turns' })).toEqual([...events, end].sort());
    expect(getEvents({ capture: 'off', recall: false })).toEqual([]);
  });

  it('the command of a hook is right for sh, cmd, PowerShell and JSON', () => {
    const getCommand = (program: ProgramName, machine: Machine, key = 'command') => {
      const text = Object.values(getTexts(toConnection(program, { budget: 900 }), machine)).join('\n');
      return JSON.parse(new RegExp(`"${key}": (".*")`).exec(text)?.[1] ?? '""');
    };
    const url = (program: string) => `http://127.0.0.1:8090/hooks/${program}?user_id=ada&budget=900`;
    const hook = 'C:/Users/Ada L/AppData/Roaming/memoryd/Config/hook.cjs';
    const node = 'C:/Program Files/nodejs/node.exe';
    expect(getCommand('codex', mac)).toBe(
      `"/opt/homebrew/bin/node" "/Users/ada/Library/Preferences/memoryd/hook.cjs" "codex" "${url('codex')}"`,
    );
    expect(getCommand('codex', { ...mac, node: '/opt/a$b/it\'s "node"' })).toContain(
      `'/opt/a$b/it'\\''s "node"' "/Users`,
    );
    expect(getCommand('codex', windows)).toBe(`"${node}" "${hook}" "codex" "${url('codex')}"`);
    expect(getCommand('gemini-cli', windows)).toBe(`& '${node}' '${hook}' 'gemini-cli' '${url('gemini-cli')}'`);
    expect(getCommand('claude-code', windows)).toBe(`node "${hook}" "claude-code" "${url('claude-code')}"`);
    expect(getCommand('copilot-cli', windows, 'powershell')).toMatch(/^& '/);
    expect(getCommand('copilot-cli', windows, 'windows')).toMatch(/^"C:/);
    expect(getCommand('antigravity', linux())).toMatch(/ "PreInvocation"$/);
  });

  it('the entries never contain a key, and name where it is', () => {
    const options = { hasKey: true, url: 'https://memory.example.com' };
    const names = PROGRAMS.filter((program) => program !== 'claude-desktop').map((program) => {
      const texts = [
        getTexts(toConnection(program, options), linux()),
        getTexts(toConnection(program, { ...options, project: home }), linux()),
      ];
      return texts.map((files) => Object.values(files).join('\n'));
    });
    for (const text of names.flat()) expect(text).toMatch(/MEMORYD_API_KEY|\{file:|\$\{input:memoryd-key\}/);
  });

  it('the advice for Claude Code names settings that turn all hooks off', () => {
    const machine = linux({ CLAUDE_CONFIG_DIR: home });
    const getAdvice = () => AGENT_PROGRAMS['claude-code'].getAdvice(toConnection('claude-code'), machine).join('\n');
    writeFileSync(join(home, 'settings.json'), '{\n  // none\n  "disableAllHooks": true\n}\n');
    expect(getAdvice()).toContain(`disableAllHooks is true in ${join(home, 'settings.json')}`);
    writeFileSync(join(home, 'settings.json'), '{}');
    expect(getAdvice()).not.toContain('disableAllHooks');
  });

  it('git ignores the files of a project that name paths of this machine, also in a folder below', () => {
    const top = join(home, 'repository');
    mkdirSync(join(top, '.git'), { recursive: true });
    const project = join(top, 'a[1]');
    const edits = getConnectionEdits(toConnection('cursor', { project }), linux());
    expect(edits.filter(({ kind }) => kind === 'line')).toEqual(
      ['mcp.json', 'hooks.json', 'rules/memoryd.mdc'].map((file) => ({
        kind: 'line',
        path: join(top, '.git/info/exclude'),
        line: `/a\\[1]/.cursor/${file}`,
      })),
    );
  });
});
