import { loadSettings } from '../settings/file.ts';
import { settingOptions } from '../settings/options.ts';
import type { Settings } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';
import { type AddCommand, withExamples, withOptions } from './command.ts';
import { isThere } from './database.ts';

/** `memoryd serve`, which also runs if the command line names no command. */
export function serveCommand(run: (settings: Settings) => Promise<void> = serve): AddCommand {
  return (program, env) => {
    const command = program
      .command('serve')
      .summary('Run the server. The default command.')
      .description('Run the server until it is stopped. This is the default command.');
    withExamples(command, 'memoryd serve', 'memoryd serve --port 8091 --db-path memory.db');
    withOptions(command, settingOptions()).action((flags) => run(loadSettings(flags, env)));
  };
}

async function serve(settings: Settings): Promise<void> {
  await assertOwnDatabase(settings);
  await (await import('../serve.ts')).serve(settings);
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
