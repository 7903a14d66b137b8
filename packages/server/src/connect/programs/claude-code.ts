import { existsSync, readFileSync } from 'node:fs';
import { parse } from 'jsonc-parser';
import { getHookCommand } from '../command-text.ts';
import { anyExists, getFolder, getOwnFiles, isOnPath, joinPath } from '../machine.ts';
import type { AgentProgram, Connection, Machine } from '../types.ts';
import { getMcpUrl } from '../urls.ts';
import {
  getEvents,
  getHeaders,
  getKeyAdvice,
  HOOK_TIMEOUT_SECONDS,
  KEY_VARIABLE,
  toGroupEntries,
} from './hook-entries.ts';

const EVENTS = { start: 'SessionStart', prompt: 'UserPromptSubmit', end: 'Stop', compaction: 'PreCompact' };

export const claudeCode: AgentProgram = {
  name: 'claude-code',
  title: 'Claude Code',
  isInstalled: (machine) => anyExists(getSettingsFolder(machine)) || isOnPath(machine, 'claude'),
  getEdits(connection, machine) {
    const { settings, mcp } = getFiles(connection, machine);
    const server = { type: 'http', url: getMcpUrl(connection), ...getHeaders(connection, `\${${KEY_VARIABLE}}`) };
    // Not of type http: the program would show an error at each prompt while the service is down (measured).
    const handler = {
      type: 'command',
      command: getHookCommand(connection, machine, 'any'),
      timeout: HOOK_TIMEOUT_SECONDS,
    };
    const handlers = toGroupEntries(getEvents(connection, EVENTS), handler);
    return [
      { kind: 'json', path: mcp, entries: [{ path: ['mcpServers', 'memoryd'], value: server }] },
      { kind: 'json', path: settings, entries: handlers },
    ];
  },
  getAdvice: (connection, machine) => [
    ...(connection.project === undefined
      ? ['Start a new session of Claude Code; running sessions keep their settings.']
      : ['Start Claude Code in this folder, and accept the MCP server and the hooks when it asks.']),
    ...getDisabledAdvice(getFiles(connection, machine).settings),
    ...getKeyAdvice(connection, getOwnFiles(machine).key),
  ],
  getConversationFolder: (machine) => joinPath(machine, getSettingsFolder(machine), 'projects'),
};

/** Returns a sentence if the settings turn all hooks off. */
function getDisabledAdvice(settings: string): string[] {
  if (!existsSync(settings)) return [];
  const { disableAllHooks } = (parse(readFileSync(settings, 'utf8')) ?? {}) as { disableAllHooks?: unknown };
  if (disableAllHooks !== true) return [];
  return [`Claude Code runs no hooks, because disableAllHooks is true in ${settings}: set it to false.`];
}

function getSettingsFolder(machine: Machine): string {
  return getFolder(machine, 'CLAUDE_CONFIG_DIR', '.claude');
}

/** `settings.local.json` is the project file that the program keeps out of git; the hooks name paths of this machine. */
function getFiles({ project }: Connection, machine: Machine): { settings: string; mcp: string } {
  if (project !== undefined) {
    return {
      settings: joinPath(machine, project, '.claude', 'settings.local.json'),
      mcp: joinPath(machine, project, '.mcp.json'),
    };
  }
  return {
    settings: joinPath(machine, getSettingsFolder(machine), 'settings.json'),
    // The file moves into the folder that CLAUDE_CONFIG_DIR names (measured).
    mcp: joinPath(machine, getFolder(machine, 'CLAUDE_CONFIG_DIR'), '.claude.json'),
  };
}
