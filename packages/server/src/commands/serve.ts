import { loadSettings } from '../settings/file.ts';
import { settingOptions } from '../settings/options.ts';
import type { Settings } from '../settings/read.ts';
import { type AddCommand, withExamples, withOptions } from './command.ts';

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
  await (await import('../serve.ts')).serve(settings);
}
