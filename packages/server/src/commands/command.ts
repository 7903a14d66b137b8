import type { Command, Option } from 'commander';
import type { Environment } from '../settings.ts';

/**
 * Adds a command to the program: its name, options and what it does. An action that rejects ends the process with one
 * line on standard error: with code 2 for a SettingsError, otherwise with 1.
 */
export type AddCommand = (program: Command, env: Environment) => void;

/** Adds options to a command. */
export function withOptions(command: Command, options: readonly Option[]): Command {
  for (const option of options) command.addOption(option);
  return command;
}
