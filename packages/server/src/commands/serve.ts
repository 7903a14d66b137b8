import { Socket } from 'node:net';
import { Option } from 'commander';
import { loadSettings } from '../settings/file.ts';
import { settingOptions } from '../settings/options.ts';
import type { Settings } from '../settings/read.ts';
import type { StopOptions } from '../stop.ts';
import { UsageError } from '../usage-error.ts';
import { type AddCommand, withExamples, withOptions } from './command.ts';
import { isThere } from './database.ts';

const STDIN_OPTION = new Option(
  '--stop-with-stdin',
  'Stop when standard input ends. A program that starts the server keeps a pipe open; when the program ends, even by ' +
    'SIGKILL, the server stops too. Standard input must be a pipe or a terminal.',
);

/** `memoryd serve`, which also runs if the command line names no command. */
export function serveCommand(run: (settings: Settings, options: StopOptions) => Promise<void> = serve): AddCommand {
  return (program, env) => {
    const command = program
      .command('serve')
      .summary('Run the server. The default command.')
      .description('Run the server until it is stopped. This is the default command.');
    withExamples(command, 'memoryd serve', 'memoryd serve --port 8091 --db-path memory.db');
    withOptions(command, [...settingOptions(), STDIN_OPTION]).action((flags) => run(loadSettings(flags, env), flags));
  };
}

async function serve(settings: Settings, { stopWithStdin }: StopOptions): Promise<void> {
  if (stopWithStdin) assertStdinCanEnd();
  await assertOwnDatabase(settings);
  await (await import('../serve.ts')).serve(settings, { stopWithStdin });
}

/** Throws a UsageError if standard input is a file or /dev/null, whose end says nothing about the program that started the server. */
function assertStdinCanEnd(): void {
  // Streams of pipes and terminals are sockets for Node. A closed standard input is /dev/null.
  if (process.stdin instanceof Socket) return;
  throw new UsageError(
    '--stop-with-stdin requires a pipe or a terminal as standard input, not a file or /dev/null; keep a pipe open while ' +
      'the server must run, or leave out --stop-with-stdin and stop the server with SIGTERM',
  );
}

/**
 * Throws a UsageError if the server would create a database at the default path although a service URL is set: the
 * caller probably means the database of that service.
 */
async function assertOwnDatabase({ url, database, isDatabaseNamed }: Settings): Promise<void> {
  if (url === '' || isDatabaseNamed || (await isThere(database))) return;
  throw new UsageError(
    `SERVICE_URL or the settings file names the service ${url}, and there is no database at ${database.dbPath}; unset ` +
      'SERVICE_URL, or name the database of this server with --db-path',
  );
}
