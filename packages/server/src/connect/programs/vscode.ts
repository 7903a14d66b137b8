import { anyExists, getApplicationFolder, getOwnFiles, isOnPath, joinPath } from '../machine.ts';
import type { AgentProgram, JsonEntry } from '../types.ts';
import { getMcpUrl } from '../urls.ts';
import { getCopilotHookEdits } from './copilot.ts';
import { getHeaders } from './hook-entries.ts';

/** The question by which VS Code asks for the key, which it then keeps in its own secret storage. */
const KEY_INPUT = { type: 'promptString', id: 'memoryd-key', description: 'API key of memoryd', password: true };

/** Files, events and fields are documented, not measured; hooks are a preview. */
export const vscode: AgentProgram = {
  name: 'vscode',
  title: 'VS Code',
  isInstalled: (machine) => anyExists(getApplicationFolder(machine, 'Code')) || isOnPath(machine, 'code'),
  getEdits(connection, machine) {
    const path =
      connection.project === undefined
        ? joinPath(machine, getApplicationFolder(machine, 'Code'), 'User', 'mcp.json')
        : joinPath(machine, connection.project, '.vscode', 'mcp.json');
    const value = { type: 'http', url: getMcpUrl(connection), ...getHeaders(connection, `\${input:${KEY_INPUT.id}}`) };
    const question: JsonEntry[] = connection.hasKey ? [{ path: ['inputs'], value: KEY_INPUT, isElement: true }] : [];
    return [
      { kind: 'json', path, entries: [{ path: ['servers', 'memoryd'], value }, ...question] },
      ...getCopilotHookEdits(connection, machine),
    ];
  },
  getAdvice: (connection, machine) => [
    'In VS Code, run the command "MCP: List Servers" and start memoryd. Hooks are a preview, which your organization may turn off.',
    'Copilot CLI reads the same hooks.',
    ...(connection.hasKey ? [`VS Code asks for the key once; it is in ${getOwnFiles(machine).key}.`] : []),
  ],
};
