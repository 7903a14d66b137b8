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

/** Commands that delete or replace data, or take protection away. No misspelt name is answered with one of them. */
export const DESTRUCTIVE_COMMANDS: readonly string[] = [
  ...['forget', 'restore', 'migrate'],
  ...['keys revoke', 'keys open', 'namespaces delete'],
];

/** Returns the name of a command and its aliases. */
export function commandNames(command: Command): string[] {
  return [command.name(), ...command.aliases()];
}

/**
 * Returns which command of a group, or of the program, an unknown name may mean, as `suggestion` does; nothing if that is
 * a destructive one.
 */
export function suggestedCommand(group: Command, name: string): string {
  const meant = suggestion(name, group.commands.flatMap(commandNames));
  const words: readonly string[] = meant.match(/[a-z]+/g) ?? [];
  const suggested = group.commands.filter((command) => commandNames(command).some((each) => words.includes(each)));
  return suggested.some(isDestructive) ? '' : meant;
}

function isDestructive(command: Command): boolean {
  const { parent } = command;
  return DESTRUCTIVE_COMMANDS.includes(parent?.parent ? `${parent.name()} ${command.name()}` : command.name());
}

/** Makes the commands that follow a name be asked for by theirs. */
export function needsCommand(group: Command): void {
  group.allowUnknownOption().allowExcessArguments();
  group.action(() => {
    const names = group.commands.map((command) => command.name());
    const meant = suggestedCommand(group, group.args[0] ?? '');
    throw new UsageError(`memoryd ${group.name()} needs one of ${names.join(', ')}${meant}`);
  });
}

/** What is done where no command is named. */
export const DEFAULT_COMMAND = 'serve';
