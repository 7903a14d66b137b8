import { getPluginText } from '../assets.ts';
import { anyExists, getFolder, getOwnFiles, isOnPath, joinPath } from '../machine.ts';
import type { AgentProgram, FileEdit, Machine } from '../types.ts';
import { getHookUrl, getMcpUrl } from '../urls.ts';
import { getHeaders, MCP_TIMEOUT_MS } from './hook-entries.ts';

export const openCode: AgentProgram = {
  name: 'opencode',
  title: 'OpenCode',
  isInstalled: (machine) => anyExists(getOpenCodeFolder(machine)) || isOnPath(machine, 'opencode'),
  getEdits(connection, machine) {
    const { project, capture, recall } = connection;
    const { key, log } = getOwnFiles(machine);
    const server = {
      type: 'remote',
      url: getMcpUrl(connection),
      enabled: true,
      ...getHeaders(connection, `{file:${key}}`),
      timeout: MCP_TIMEOUT_MS,
    };
    const edits: FileEdit[] = [
      {
        kind: 'json',
        path: getSettingsFile(machine, project ?? getOpenCodeFolder(machine)),
        entries: [{ path: ['mcp', 'memoryd'], value: server }],
      },
    ];
    if (capture === 'off' && !recall) return edits;
    const folder = project === undefined ? getOpenCodeFolder(machine) : joinPath(machine, project, '.opencode');
    return [
      ...edits,
      {
        kind: 'whole',
        path: joinPath(machine, folder, 'plugins', 'memoryd.js'),
        content: getPluginText({ url: getHookUrl(connection), capture, keyFile: key, log }),
      },
    ];
  },
  getAdvice: () => ['Start OpenCode again; a running OpenCode keeps its plugins.'],
};

function getOpenCodeFolder(machine: Machine): string {
  return (
    machine.env.OPENCODE_CONFIG_DIR || joinPath(machine, getFolder(machine, 'XDG_CONFIG_HOME', '.config'), 'opencode')
  );
}

/** Returns the settings file in a folder, which may have comments. A new file has none. */
function getSettingsFile(machine: Machine, folder: string): string {
  const withComments = joinPath(machine, folder, 'opencode.jsonc');
  return anyExists(withComments) ? withComments : joinPath(machine, folder, 'opencode.json');
}
