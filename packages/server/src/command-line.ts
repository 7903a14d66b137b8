import { Command, CommanderError, Help } from 'commander';
import { backupCommand } from './commands/backup.ts';
import { type AddCommand, commandNames, DEFAULT_COMMAND, suggestedCommand, withExamples } from './commands/command.ts';
import { completionCommand } from './commands/completion.ts';
import { connectCommand } from './commands/connect.ts';
import { consolidateCommand } from './commands/consolidate.ts';
import { contextCommand } from './commands/context.ts';
import { correctionsCommand } from './commands/corrections.ts';
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
import { settingOptions } from './settings/options.ts';
import type { Environment } from './settings/read.ts';
import { unknownVariables } from './settings/unknown.ts';
import { UsageError } from './usage-error.ts';
import { VERSION } from './version.ts';

/** All commands, in the order of the help. */
const COMMANDS: readonly AddCommand[] = [
  ...inGroup('Run:', serveCommand(), mcpCommand(), connectCommand, doctorCommand, completionCommand),
  ...inGroup(
    'Memories:',
    storeCommand,
    recallCommand,
    contextCommand,
    listCommand,
    showCommand,
    historyCommand,
    sessionCommand,
    updateCommand,
    forgetCommand,
    statsCommand,
  ),
  ...inGroup(
    'Maintenance:',
    consolidateCommand,
    correctionsCommand,
    backupCommand,
    restoreCommand,
    verifyCommand,
    exportCommand,
    importCommand,
    migrateCommand,
  ),
  ...inGroup('Access:', keysCommand, namespacesCommand, usersCommand),
];

/** Returns the commands so that the help lists them under a heading. */
function inGroup(heading: string, ...commands: readonly AddCommand[]): AddCommand[] {
  return commands.map((add) => (program, env) => add(program.commandsGroup(heading), env));
}

/** Maximum width of the help, in columns. */
const HELP_COLUMNS = 80;
/** Maximum width of the first column of the help. A longer name is printed on its own line. */
const HELP_NAME_COLUMNS = 26;

const helpFormat = new Help();

/** Options of the default command that the help of the program lists. */
const SERVER_OPTIONS = settingOptions(['host', 'port', 'dbPath'])
  .filter(({ long }) => long !== '--config')
  .map((option) => option.helpGroup('Server (memoryd serve --help lists all options):'));

/** Returns the program with all its commands, not yet run. */
export function createProgram(env: Environment, commands: readonly AddCommand[] = COMMANDS): Command {
  const program: Command = new Command('memoryd')
    .usage('[command] [options]')
    .description(
      'A memory service for AI agents. Without a command, memoryd runs the server. `memoryd COMMAND --help` prints the ' +
        'options of a command.',
    )
    .version(VERSION, '-V, --version', 'Print the version.')
    .helpOption('--help', 'Print this help.')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeErr: () => {},
      writeOut: (text) => void write(text),
      getOutHelpWidth: () => Math.min(process.stdout.columns || HELP_COLUMNS, HELP_COLUMNS),
    })
    .configureHelp({
      visibleOptions: (command) => [
        ...helpFormat.visibleOptions(command),
        ...(command === program ? SERVER_OPTIONS : []),
      ],
      subcommandTerm: (command) => commandNames(command).join('|'),
      padWidth: (command, helper) => Math.min(helpFormat.padWidth(command, helper), HELP_NAME_COLUMNS),
      formatItem(name, width, description, helper) {
        const format = (text: string) => helpFormat.formatItem.call(helper, text, width, description, helper);
        return helper.displayWidth(name) <= width ? format(name) : `  ${name}\n${format('')}`;
      },
    })
    .hook('preAction', () => {
      for (const sentence of unknownVariables(env)) note(`memoryd: ${sentence}`);
    });
  withExamples(
    program,
    "memoryd store --user ada 'Ada is allergic to peanuts'",
    "memoryd recall --user ada 'Can Ada eat peanut butter?'",
  );
  for (const add of commands) add(program, env);
  return program;
}

/**
 * Parses and runs a command line, including `--help` and `--version`.
 *
 * @param argv the arguments after the name of the script
 * @throws UsageError for an invalid command line; also the errors of commands
 */
export async function runCommandLine(argv: readonly string[], env: Environment, commands = COMMANDS): Promise<void> {
  const program = createProgram(env, commands);
  const words = withCommand(argv);
  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw toUsageError(error, program, words);
  }
}

/** Returns the long flags of the command or subcommand that the arguments name. */
function getOptions(program: Command, words: readonly string[]): string[] {
  const findCommand = (command: Command, word: string) =>
    command.commands.find((each) => commandNames(each).includes(word)) ?? command;
  return words.reduce(findCommand, program).options.map(({ long }) => long ?? '');
}

/**
 * Inserts the default command if the first argument is neither a command nor a flag for help or version. Also turns
 * `help recall` into `recall --help`.
 */
function withCommand(argv: readonly string[]): readonly string[] {
  if (argv[0] === 'help') return [...argv.slice(1), '--help'];
  return namesCommand(argv) ? argv : [DEFAULT_COMMAND, ...argv];
}

function namesCommand([first]: readonly string[]): boolean {
  if (first === undefined) return false;
  return !first.startsWith('-') || first === '--help' || first === '--version' || first === '-V';
}

/**
 * Converts commander's error to a UsageError. Removes the value of an unknown option, because the value may be a
 * secret.
 */
function toUsageError({ code, message }: CommanderError, program: Command, words: readonly string[]): UsageError {
  const [name = ''] = program.args;
  // Replaces commander's suggestion, which may be a destructive command.
  if (code === 'commander.unknownCommand') {
    return new UsageError(
      `unknown command '${name}'${suggestedCommand(program, name) || '; memoryd --help lists the commands'}`,
    );
  }
  const text = message.replace(/^error: /, '').replace(/(unknown option '[^'=]*)=.*'/s, "$1'");
  const [unknown, typed] = /^unknown option '(--[^']+)'/.exec(text) ?? [];
  // Commander suggests options of a similar length, such as `--version` for `--session`. Prefer an option that begins
  // with the typed text, such as `--session-id`.
  const completed =
    typed === undefined ? undefined : getOptions(program, words).find((option) => option.startsWith(`${typed}-`));
  return new UsageError(
    completed === undefined ? text.replaceAll('\n', ' ') : `${unknown} (Did you mean ${completed}?)`,
  );
}
