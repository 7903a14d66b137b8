import { getOwnFiles } from './machine.ts';
import type { Connection, Machine } from './types.ts';
import { getHookUrl } from './urls.ts';

/**
 * A shell that a program uses on Windows. `any` is for programs that use one of several shells: the command starts with
 * `node` from `PATH`, because no quoted path is a command in every shell.
 */
export type WindowsShell = 'cmd' | 'powershell' | 'any';

/**
 * Returns the command line that runs the hook's file.
 *
 * @param shell the shell on Windows; other platforms use `sh`
 * @param argument the name of the event, for a program whose input does not name it; for Cursor, the folder with the rules
 */
export function getHookCommand(
  connection: Connection,
  machine: Machine,
  shell: WindowsShell,
  ...argument: string[]
): string {
  const { node } = machine;
  const words = [getOwnFiles(machine).hook, connection.program, getHookUrl(connection), ...argument];
  if (machine.platform !== 'win32') return [node, ...words].map(quoteForSh).join(' ');
  // Windows programs take slashes, and a backslash is an escape character in some shells.
  const [program = '', ...others] = [node, ...words].map((word) => word.replaceAll('\\', '/'));
  if (shell === 'powershell') return ['&', ...[program, ...others].map(quoteForPowerShell)].join(' ');
  return [shell === 'any' ? 'node' : `"${program}"`, ...others.map((word) => `"${word}"`)].join(' ');
}

function quoteForSh(word: string): string {
  return /["$`\\!]/.test(word) ? `'${word.replaceAll("'", "'\\''")}'` : `"${word}"`;
}

function quoteForPowerShell(word: string): string {
  return `'${word.replaceAll("'", "''")}'`;
}
