import { getHookCommand } from '../command-text.ts';
import { anyExists, getOwnFiles, isOnPath, joinPath } from '../machine.ts';
import type { AgentProgram } from '../types.ts';
import { getMcpUrl } from '../urls.ts';
import { getEvents, getHeaders, getKeyAdvice, HOOK_TIMEOUT_SECONDS, KEY_VARIABLE } from './hook-entries.ts';

/**
 * Files, events and fields are documented, not measured. The program reads strict JSON, and drops the whole file of hooks
 * for a timeout that is not a whole number.
 */
export const antigravity: AgentProgram = {
  name: 'antigravity',
  title: 'Antigravity',
  isInstalled: (machine) =>
    anyExists(
      joinPath(machine, machine.home, '.gemini', 'config'),
      joinPath(machine, machine.home, '.gemini', 'antigravity'),
      joinPath(machine, machine.home, '.gemini', 'antigravity-cli'),
    ) || isOnPath(machine, 'agy'),
  getEdits(connection, machine) {
    const { project } = connection;
    const folder =
      project === undefined
        ? joinPath(machine, machine.home, '.gemini', 'config')
        : joinPath(machine, project, '.agents');
    const server = { serverUrl: getMcpUrl(connection), ...getHeaders(connection, `\${${KEY_VARIABLE}}`) };
    // The input of a hook does not name its event, so that the command names it. PreInvocation precedes each call of the
    // model; the hook's file sends a prompt only after a message of the person.
    const events = getEvents(connection, { prompt: 'PreInvocation', end: 'Stop' });
    const value = Object.fromEntries(
      events.map((event) => [
        event,
        [
          {
            type: 'command',
            command: getHookCommand(connection, machine, 'any', event),
            timeout: HOOK_TIMEOUT_SECONDS,
          },
        ],
      ]),
    );
    return [
      {
        kind: 'json',
        path: joinPath(machine, folder, 'mcp_config.json'),
        entries: [{ path: ['mcpServers', 'memoryd'], value: server }],
      },
      {
        kind: 'json',
        path: joinPath(machine, folder, 'hooks.json'),
        entries: events.length === 0 ? [] : [{ path: ['memoryd'], value }],
      },
    ];
  },
  getAdvice: (connection, machine) => [
    'Start a new session of Antigravity; running sessions keep their settings.',
    ...getKeyAdvice(connection, getOwnFiles(machine).key),
  ],
};
