import { Command, CommanderError } from 'commander';
import { backupCommand } from './commands/backup.ts';
import type { AddCommand } from './commands/command.ts';
import { exportCommand } from './commands/export.ts';
import { importCommand } from './commands/import.ts';
import { keysCommand } from './commands/keys.ts';
import { mcpCommand } from './commands/mcp.ts';
import { migrateCommand } from './commands/migrate.ts';
import { namespacesCommand } from './commands/namespaces.ts';
import { restoreCommand } from './commands/restore.ts';
import { serveCommand } from './commands/serve.ts';
import { verifyCommand } from './commands/verify.ts';
import { type Environment, SettingsError } from './settings.ts';
import { VERSION } from './version.ts';

/** Every command, in the order of the help. */
const COMMANDS: readonly AddCommand[] = [
  serveCommand(),
  mcpCommand(),
  backupCommand,
  restoreCommand,
  verifyCommand,
  exportCommand,
  importCommand,
  migrateCommand,
  keysCommand,
  namespacesCommand,
];

/**
 * Does what a command line asks for. Help and the version are printed.
 *
 * @param argv the arguments after the script's name
 * @throws SettingsError for an unknown command or flag, or a bad value; whatever a command rejects with
 */
export async function runCommandLine(argv: readonly string[], env: Environment, commands = COMMANDS): Promise<void> {
  const program = new Command('memoryd')
    .description('A memory service for AI agents.')
    .version(VERSION)
    .helpOption('--help', 'print this help')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  for (const add of commands) add(program, env);
  program.addHelpText('after', () => `\n${program.commands[0]?.helpInformation()}`);
  try {
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw refusalOf(error);
  }
}

// An option is named without what was given to it, which may be a secret behind a misspelt flag.
function refusalOf({ message }: CommanderError): SettingsError {
  const said = message.replace(/^error: /, '').replace(/(unknown option '[^'=]*)=.*'/s, "$1'");
  return new SettingsError(said.replaceAll('\n', ' '));
}
