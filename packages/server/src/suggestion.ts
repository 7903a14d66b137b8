import { Command, CommanderError } from 'commander';

/**
 * Returns a suggestion for an unknown name, such as ` (Did you mean port?)`, or an empty string if no known name is
 * similar. The text comes from commander, so that it reads the same as for an unknown command.
 */
export function getSuggestion(name: string, known: readonly string[]): string {
  const program = new Command()
    .exitOverride()
    .helpCommand(false)
    .configureOutput({ writeErr: () => {} });
  for (const each of known) program.command(each);
  try {
    program.parse(['--', name], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const [hint] = /\(Did you mean .*\?\)$/.exec(error.message) ?? [];
    if (hint !== undefined) return ` ${hint}`;
  }
  return '';
}
