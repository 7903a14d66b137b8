import { anyExists, getOwnFiles, isOnPath, joinPath } from '../machine.ts';
import type { AgentProgram } from '../types.ts';
import { getMcpUrl } from '../urls.ts';
import { getCopilotFolder, getCopilotHookEdits } from './copilot.ts';
import { getHeaders, getKeyAdvice, KEY_VARIABLE } from './hook-entries.ts';

/** Files, events and fields are documented, not measured. */
export const copilotCli: AgentProgram = {
  name: 'copilot-cli',
  title: 'Copilot CLI',
  isInstalled: (machine) => anyExists(getCopilotFolder(machine)) || isOnPath(machine, 'copilot'),
  getEdits(connection, machine) {
    const path =
      connection.project === undefined
        ? joinPath(machine, getCopilotFolder(machine), 'mcp-config.json')
        : joinPath(machine, connection.project, '.github', 'mcp.json');
    const value = {
      type: 'http',
      url: getMcpUrl(connection),
      ...getHeaders(connection, `\${${KEY_VARIABLE}}`),
      tools: ['*'],
    };
    return [
      { kind: 'json', path, entries: [{ path: ['mcpServers', 'memoryd'], value }] },
      ...getCopilotHookEdits(connection, machine),
    ];
  },
  getAdvice: (connection, machine) => [
    'Start a new session of Copilot CLI, and trust the folder when it asks.',
    'VS Code reads the same hooks.',
    ...getKeyAdvice(connection, getOwnFiles(machine).key),
  ],
};
