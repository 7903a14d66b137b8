import { type Command, Option } from 'commander';
import { suggestion } from '../near.ts';
import type { Environment, Flags } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';

/**
 * Adds a command to the program: its name, options and what it does. An action that rejects ends the process with one
 * line on standard error and a code of `EXIT_CODES`. Its file loads what every start may load; what the action needs
 * beyond that, such as the engine, it imports when it runs.
 */
export type AddCommand = (program: Command, env: Environment) => void;

/** Adds options to a command. */
export function withOptions(command: Command, options: readonly Option[]): Command {
  for (const option of options) command.addOption(option);
  return command;
}

/** The option of every command that answers something. */
export const JSON_OPTION = new Option('--json', 'Print JSON, for programs.');

/** What such a command is given, beside its own options. */
export type AnswerFlags = Flags & { json?: true };

/** Makes the commands that follow a name be asked for by theirs. */
export function needsCommand(group: Command): void {
  group.allowUnknownOption().allowExcessArguments();
  group.action(() => {
    const names = group.commands.map((command) => command.name());
    const meant = suggestion(group.args[0] ?? '', names);
    throw new UsageError(`memoryd ${group.name()} needs one of ${names.join(', ')}${meant}`);
  });
}

/** What is done where no command is named. */
export const DEFAULT_COMMAND = 'serve';
