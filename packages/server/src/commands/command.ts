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

const destructiveCommands = new WeakSet<Command>();

/** Marks a command that deletes or replaces data, or takes protection away, and returns it. It is never suggested. */
export function destructive(command: Command): Command {
  destructiveCommands.add(command);
  return command;
}

/** Whether `destructive` has marked a command. */
export function isDestructive(command: Command): boolean {
  return destructiveCommands.has(command);
}

/** Returns the name of a command and its aliases. */
export function commandNames(command: Command): string[] {
  return [command.name(), ...command.aliases()];
}

/**
 * Returns which command of a group, or of the program, an unknown name may mean, as `suggestion` does; nothing if a
 * destructive one is among the nearest.
 */
export function suggestedCommand({ commands }: Command, name: string): string {
  const meant = suggestion(name, commands.flatMap(commandNames));
  const harmless = commands.filter((command) => !isDestructive(command));
  return meant === suggestion(name, harmless.flatMap(commandNames)) ? meant : '';
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
