import { type Command, Option } from 'commander';
import { suggestion } from '../near.ts';
import type { Environment, Flags } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';

/**
 * Adds a command to the program: its name, options and action. An action that rejects ends the process with one line on
 * standard error and a code of `EXIT_CODES`. The file of a command imports only modules that every start may load. The
 * action imports all others, such as the engine, when it runs.
 */
export type AddCommand = (program: Command, env: Environment) => void;

/** Adds options to a command. */
export function withOptions(command: Command, options: readonly Option[]): Command {
  for (const option of options) command.addOption(option);
  return command;
}

/** Adds command lines to the end of the help of a command. */
export function withExamples(command: Command, ...examples: readonly string[]): Command {
  return command.addHelpText('after', `\nExamples:\n${examples.map((example) => `  ${example}\n`).join('')}`.trimEnd());
}

/** The option of every command that prints a result. */
export const JSON_OPTION = new Option('--json', 'Print JSON, for programs.');

/** The option of every command that lists memories with short ids. */
export const IDS_OPTION = new Option('--ids', 'Print ids in full.');

/** The flags of every command that prints a result. */
export type CommonFlags = Flags & { json?: true; ids?: true };

const destructiveCommands = new WeakSet<Command>();

/** Marks a command that deletes or replaces data, or removes protection, and returns it. It is never suggested. */
export function destructive(command: Command): Command {
  destructiveCommands.add(command);
  return command;
}

/** Returns whether `destructive` has marked a command. */
export function isDestructive(command: Command): boolean {
  return destructiveCommands.has(command);
}

/** Returns the name of a command and its aliases. */
export function commandNames(command: Command): string[] {
  return [command.name(), ...command.aliases()];
}

/**
 * Returns the command of a group, or of the program, that an unknown name is similar to, as `suggestion` does. Returns an
 * empty text if a destructive command is among the most similar.
 */
export function suggestedCommand({ commands }: Command, name: string): string {
  const similar = suggestion(name, commands.flatMap(commandNames));
  const harmless = commands.filter((command) => !isDestructive(command));
  return similar === suggestion(name, harmless.flatMap(commandNames)) ? similar : '';
}

/** Makes a group of commands fail without the name of a command. */
export function needsCommand(group: Command): void {
  group.allowUnknownOption().allowExcessArguments();
  group.action(() => {
    const names = group.commands.map((command) => command.name());
    const similar = suggestedCommand(group, group.args[0] ?? '');
    throw new UsageError(`memoryd ${group.name()} needs one of ${names.join(', ')}${similar}`);
  });
}

/** The command that runs if a command line names none. */
export const DEFAULT_COMMAND = 'serve';
