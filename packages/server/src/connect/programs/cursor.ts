import { getHookCommand } from '../command-text.ts';
import { anyExists, getOwnFiles, isOnPath, joinPath } from '../machine.ts';
import { type AgentProgram, type FileEdit, OWNED_MARK } from '../types.ts';
import { getMcpUrl } from '../urls.ts';
import { getEvents, getHeaders, getKeyAdvice, KEY_VARIABLE, toFlatEntries } from './hook-entries.ts';

const EVENTS = {
  start: 'sessionStart',
  prompt: 'beforeSubmitPrompt',
  end: 'afterAgentResponse',
  compaction: 'preCompact',
};

/** The rules of a project before a session has put memories into them. */
const RULES = `---
description: Memories of memoryd
alwaysApply: true
---
<!-- ${OWNED_MARK}: each session replaces the text below. \`memoryd connect cursor --project --remove\` deletes the file. -->
`;

/** Files and events are documented, not measured. */
export const cursor: AgentProgram = {
  name: 'cursor',
  title: 'Cursor',
  isInstalled: (machine) => anyExists(joinPath(machine, machine.home, '.cursor')) || isOnPath(machine, 'cursor'),
  getEdits(connection, machine) {
    const { project, recall } = connection;
    const folder = joinPath(machine, project ?? machine.home, '.cursor');
    const server = { url: getMcpUrl(connection), ...getHeaders(connection, `\${env:${KEY_VARIABLE}}`) };
    // Without a timeout, because sources disagree about its unit. The hook's file has a deadline of its own.
    // The folder is the only one whose rules get memories.
    const folders = project !== undefined && recall ? [project] : [];
    const handler = { command: getHookCommand(connection, machine, 'any', ...folders) };
    const handlers = toFlatEntries(getEvents(connection, EVENTS), handler);
    const edits: FileEdit[] = [
      {
        kind: 'json',
        path: joinPath(machine, folder, 'mcp.json'),
        entries: [{ path: ['mcpServers', 'memoryd'], value: server }],
      },
      {
        kind: 'json',
        path: joinPath(machine, folder, 'hooks.json'),
        entries: handlers.length === 0 ? [] : [{ path: ['version'], value: 1, isDefault: true }, ...handlers],
      },
    ];
    if (project === undefined || !recall) return edits;
    const rules = joinPath(machine, folder, 'rules', 'memoryd.mdc');
    return [...edits, { kind: 'whole', path: rules, content: RULES }];
  },
  getAdvice: (connection, machine) => [
    'Restart Cursor, and turn on the MCP server memoryd in Settings, Tools & MCP.',
    ...(connection.project === undefined && connection.recall
      ? [
          'Cursor 3 drops memories that hooks give. Run `memoryd connect cursor --project` in a project, so that its rules have them.',
        ]
      : []),
    ...getKeyAdvice(connection, getOwnFiles(machine).key),
  ],
};
