import { getHookCommand } from '../command-text.ts';
import { getFolder, joinPath } from '../machine.ts';
import type { Connection, FileEdit, JsonEntry, JsonValue, Machine } from '../types.ts';
import { getEvents, HOOK_TIMEOUT_SECONDS, toFlatEntries } from './hook-entries.ts';

/** With names that begin with a capital letter, Copilot CLI sends the fields that VS Code sends (documented). */
const EVENTS = { start: 'SessionStart', prompt: 'UserPromptSubmit', end: 'Stop', compaction: 'PreCompact' };

/**
 * Returns the changes with the hooks of VS Code and Copilot CLI, which both read the same folders. The program in the
 * address is always Copilot CLI, so that both connections have the same entries and no hook runs twice; the hook's file
 * recognizes the input of VS Code.
 */
export function getCopilotHookEdits(connection: Connection, machine: Machine): FileEdit[] {
  const { project } = connection;
  const folder = project === undefined ? getCopilotFolder(machine) : joinPath(machine, project, '.github');
  const path = joinPath(machine, folder, 'hooks', 'memoryd.json');
  const handler = toHandler({ ...connection, program: 'copilot-cli' }, machine);
  const handlers: JsonEntry[] = toFlatEntries(getEvents(connection, EVENTS), handler);
  if (handlers.length === 0) return [];
  return [{ kind: 'json', path, entries: [{ path: ['version'], value: 1, isDefault: true }, ...handlers] }];
}

function toHandler(connection: Connection, machine: Machine): JsonValue {
  const timeout = HOOK_TIMEOUT_SECONDS;
  if (machine.platform !== 'win32')
    return { type: 'command', command: getHookCommand(connection, machine, 'any'), timeout };
  // VS Code reads `windows`, Copilot CLI reads `powershell`.
  return {
    type: 'command',
    windows: getHookCommand(connection, machine, 'cmd'),
    powershell: getHookCommand(connection, machine, 'powershell'),
    timeout,
  };
}

export function getCopilotFolder(machine: Machine): string {
  return getFolder(machine, 'COPILOT_HOME', '.copilot');
}
