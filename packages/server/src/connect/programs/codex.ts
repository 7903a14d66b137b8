import { getHookCommand } from '../command-text.ts';
import { anyExists, getFolder, getOwnFiles, isOnPath, joinPath } from '../machine.ts';
import type { AgentProgram } from '../types.ts';
import { getMcpUrl } from '../urls.ts';
import { getEvents, getKeyAdvice, HOOK_TIMEOUT_SECONDS, KEY_VARIABLE, toGroupEntries } from './hook-entries.ts';

const EVENTS = { start: 'SessionStart', prompt: 'UserPromptSubmit', end: 'Stop', compaction: 'PreCompact' };

export const codex: AgentProgram = {
  name: 'codex',
  title: 'Codex',
  isInstalled: (machine) => anyExists(getFolder(machine, 'CODEX_HOME', '.codex')) || isOnPath(machine, 'codex'),
  getEdits(connection, machine) {
    const { project } = connection;
    const folder =
      project === undefined ? getFolder(machine, 'CODEX_HOME', '.codex') : joinPath(machine, project, '.codex');
    // Without `required`: Codex would not start while the service is down (measured).
    const values = {
      url: getMcpUrl(connection),
      ...(connection.hasKey && { bearer_token_env_var: KEY_VARIABLE }),
    };
    const handler = {
      type: 'command',
      command: getHookCommand(connection, machine, 'cmd'),
      timeout: HOOK_TIMEOUT_SECONDS,
    };
    return [
      { kind: 'toml', path: joinPath(machine, folder, 'config.toml'), table: ['mcp_servers', 'memoryd'], values },
      {
        kind: 'json',
        path: joinPath(machine, folder, 'hooks.json'),
        entries: toGroupEntries(getEvents(connection, EVENTS), handler),
      },
    ];
  },
  getAdvice: (connection, machine) => [
    getEvents(connection, EVENTS).length === 0
      ? 'Start a new session of Codex; running sessions keep their settings.'
      : 'Start codex and choose "Trust all and continue", or trust the hooks in /hooks. Until then, Codex skips them without a message.',
    ...(connection.project === undefined ? [] : ['Codex reads the files of a project only if you trust its folder.']),
    ...getKeyAdvice(connection, getOwnFiles(machine).key),
  ],
  getConversationFolder: (machine) => joinPath(machine, getFolder(machine, 'CODEX_HOME', '.codex'), 'sessions'),
};
