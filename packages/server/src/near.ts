import { Command, CommanderError } from 'commander';

/**
 * What somebody may have meant by a name that is not known, as half a sentence such as ` (Did you mean port?)`; nothing
 * where no known name is near. It is commander's answer to an unknown command, so that it is the same for all names.
 */
export function suggestion(name: string, known: readonly string[]): string {
  const program = new Command()
    .exitOverride()
    .helpCommand(false)
    .configureOutput({ writeErr: () => {} });
  for (const each of known) program.command(each);
  try {
    program.parse(['--', name], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const [said] = /\(Did you mean .*\?\)$/.exec(error.message) ?? [];
    if (said !== undefined) return ` ${said}`;
  }
  return '';
}
