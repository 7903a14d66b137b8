import { Command, CommanderError } from 'commander';
import { backupCommand } from './commands/backup.ts';
import { type AddCommand, commandNames, DEFAULT_COMMAND, suggestedCommand } from './commands/command.ts';
import { completionCommand } from './commands/completion.ts';
import { consolidateCommand } from './commands/consolidate.ts';
import { doctorCommand } from './commands/doctor.ts';
import { exportCommand } from './commands/export.ts';
import { forgetCommand } from './commands/forget.ts';
import { historyCommand } from './commands/history.ts';
import { importCommand } from './commands/import.ts';
import { keysCommand } from './commands/keys.ts';
import { listCommand } from './commands/list.ts';
import { mcpCommand } from './commands/mcp.ts';
import { migrateCommand } from './commands/migrate.ts';
import { namespacesCommand } from './commands/namespaces.ts';
import { note, write } from './commands/output.ts';
import { recallCommand } from './commands/recall.ts';
import { restoreCommand } from './commands/restore.ts';
import { serveCommand } from './commands/serve.ts';
import { sessionCommand } from './commands/session.ts';
import { showCommand } from './commands/show.ts';
import { statsCommand } from './commands/stats.ts';
import { storeCommand } from './commands/store.ts';
import { updateCommand } from './commands/update.ts';
import { usersCommand } from './commands/users.ts';
import { verifyCommand } from './commands/verify.ts';
import type { Environment } from './settings/read.ts';
import { unknownVariables } from './settings/unknown.ts';
import { UsageError } from './usage-error.ts';
import { VERSION } from './version.ts';

/** Every command, in the order of the help. */
const COMMANDS: readonly AddCommand[] = [
  serveCommand(),
  mcpCommand,
  storeCommand,
  recallCommand,
  listCommand,
  showCommand,
  historyCommand,
  sessionCommand,
  updateCommand,
  forgetCommand,
  consolidateCommand,
  statsCommand,
  backupCommand,
  restoreCommand,
  verifyCommand,
  exportCommand,
  importCommand,
  migrateCommand,
  keysCommand,
  namespacesCommand,
  usersCommand,
  doctorCommand,
  completionCommand,
];

/** The program with all its commands, none of which has run. */
export function createProgram(env: Environment, commands: readonly AddCommand[] = COMMANDS): Command {
  const program: Command = new Command('memoryd')
    .description('A memory service for AI agents.')
    .version(VERSION)
    .helpOption('--help', 'print this help, or that of a command')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({ writeErr: () => {}, writeOut: (text) => void write(text) })
    .addHelpText(
      'after',
      ({ command }) => `\nWithout a command, memoryd serves.\n\n${getHelp(command, DEFAULT_COMMAND)}`,
    )
    .hook('preAction', () => {
      for (const sentence of unknownVariables(env)) note(`memoryd: ${sentence}`);
    });
  for (const add of commands) add(program, env);
  return program;
}

/**
 * Does what a command line asks for. Help and the version are printed.
 *
 * @param argv the arguments after the script's name
 * @throws UsageError for an unknown command or flag, or a bad value; whatever a command rejects with
 */
export async function runCommandLine(argv: readonly string[], env: Environment, commands = COMMANDS): Promise<void> {
  const program = createProgram(env, commands);
  const words = getWords(argv);
  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw toRefusal(error, program, words);
  }
}

/** The long names of the options of the command that words name. */
function getOptions(program: Command, words: readonly string[]): string[] {
  const named = (command: Command, word: string) =>
    command.commands.find((each) => commandNames(each).includes(word)) ?? command;
  return words.reduce(named, program).options.map(({ long }) => long ?? '');
}

function getHelp(program: Command, name: string): string {
  return program.commands.find((command) => command.name() === name)?.helpInformation() ?? '';
}

/** What is typed, with the command that is meant: `help recall` is another way to say `recall --help`. */
function getWords(argv: readonly string[]): readonly string[] {
  if (argv[0] === 'help') return [...argv.slice(1), '--help'];
  return namesCommand(argv) ? argv : [DEFAULT_COMMAND, ...argv];
}

function namesCommand([first]: readonly string[]): boolean {
  if (first === undefined) return false;
  return !first.startsWith('-') || first === '--help' || first === '--version' || first === '-V';
}

// An option is named without what was given to it, which may be a secret behind a misspelt flag.
function toRefusal({ code, message }: CommanderError, program: Command, words: readonly string[]): UsageError {
  const [name = ''] = program.args;
  // Commander would suggest any command, also one that deletes.
  if (code === 'commander.unknownCommand') {
    return new UsageError(
      `unknown command '${name}'${suggestedCommand(program, name) || '; memoryd --help lists the commands'}`,
    );
  }
  const said = message.replace(/^error: /, '').replace(/(unknown option '[^'=]*)=.*'/s, "$1'");
  const [unknown, typed] = /^unknown option '(--[^']+)'/.exec(said) ?? [];
  // Commander looks for a name as long as the one that was typed: `--session` is no misspelt `--version`.
  const whole =
    typed === undefined ? undefined : getOptions(program, words).find((option) => option.startsWith(`${typed}-`));
  return new UsageError(whole === undefined ? said.replaceAll('\n', ' ') : `${unknown} (Did you mean ${whole}?)`);
}
