import { loadSettings } from '../settings/file.ts';
import { settingOptions } from '../settings/options.ts';
import type { Settings } from '../settings/read.ts';
import { type AddCommand, withOptions } from './command.ts';

/** `memoryd serve`, which is also what `memoryd` does without the name of a command. */
export function serveCommand(run: (settings: Settings) => Promise<void> = serve): AddCommand {
  return (program, env) => {
    const command = program
      .command('serve')
      .description('Serve memories until told to stop; what memoryd does where no command is named.');
    withOptions(command, settingOptions()).action((flags) => run(loadSettings(flags, env)));
  };
}

async function serve(settings: Settings): Promise<void> {
  await (await import('../serve.ts')).serve(settings);
}
