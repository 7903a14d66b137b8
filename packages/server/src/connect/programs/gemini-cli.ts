import { getHookCommand } from '../command-text.ts';
import { anyExists, getOwnFiles, isOnPath, joinPath } from '../machine.ts';
import type { AgentProgram, Machine } from '../types.ts';
import { getMcpUrl } from '../urls.ts';
import {
  getEvents,
  getHeaders,
  getKeyAdvice,
  HOOK_TIMEOUT_SECONDS,
  KEY_VARIABLE,
  MCP_TIMEOUT_MS,
  toGroupEntries,
} from './hook-entries.ts';

const EVENTS = { start: 'SessionStart', prompt: 'BeforeAgent', end: 'AfterAgent', compaction: 'PreCompress' };

export const geminiCli: AgentProgram = {
  name: 'gemini-cli',
  title: 'Gemini CLI',
  isInstalled: (machine) =>
    anyExists(joinPath(machine, getGeminiFolder(machine), 'settings.json')) || isOnPath(machine, 'gemini'),
  getEdits(connection, machine) {
    const folder =
      connection.project === undefined ? getGeminiFolder(machine) : joinPath(machine, connection.project, '.gemini');
    const server = {
      httpUrl: getMcpUrl(connection),
      ...getHeaders(connection, `$${KEY_VARIABLE}`),
      timeout: MCP_TIMEOUT_MS,
    };
    // The program runs hooks by PowerShell on Windows. Its timeouts are in milliseconds.
    const handler = {
      type: 'command',
      name: 'memoryd',
      command: getHookCommand(connection, machine, 'powershell'),
      timeout: HOOK_TIMEOUT_SECONDS * 1000,
    };
    const entries = [
      { path: ['mcpServers', 'memoryd'], value: server },
      ...toGroupEntries(getEvents(connection, EVENTS), handler),
    ];
    return [{ kind: 'json', path: joinPath(machine, folder, 'settings.json'), entries }];
  },
  getAdvice: (connection, machine) => [
    connection.project === undefined
      ? 'Start a new session of Gemini CLI; running sessions keep their settings.'
      : 'Gemini CLI reads the files of a project only in a trusted folder: type /permissions there and trust it.',
    ...getKeyAdvice(connection, getOwnFiles(machine).key),
  ],
  getConversationFolder: (machine) => joinPath(machine, getGeminiFolder(machine), 'tmp'),
};

/** Returns the folder that Gemini CLI and Antigravity share. */
export function getGeminiFolder(machine: Machine): string {
  return joinPath(machine, machine.env.GEMINI_CLI_HOME || machine.home, '.gemini');
}
