import { type Command, Option } from 'commander';
import type { Environment, Flags } from '../settings/read.ts';
import { getSuggestion } from '../suggestion.ts';
import { UsageError } from '../usage-error.ts';
import type { TimeFlags } from './local-time.ts';

/**
 * Adds a command to the program: its name, options and action. If the action rejects, the process prints one line on
 * standard error and exits with a code of `EXIT_CODES`. To keep every start fast, the module of a command imports only
 * small modules statically; the action imports large modules, such as the engine, on demand.
 */
export type AddCommand = (program: Command, env: Environment) => void;

export function withOptions(command: Command, options: readonly Option[]): Command {
  for (const option of options) command.addOption(option);
  return command;
}

/** Adds example command lines to the end of the help of a command. */
export function withExamples(command: Command, ...examples: readonly string[]): Command {
  return command.addHelpText('after', `\nExamples:\n${examples.map((example) => `  ${example}\n`).join('')}`.trimEnd());
}

/** The option of commands that print a result as text or JSON. */
export const JSON_OPTION = new Option('--json', 'Print JSON, for programs.');

/** The option of commands that print or take times. */
export const UTC_OPTION = new Option('--utc', 'Show times, and read dates of options, in UTC, not in local time.');

/** The option of commands that print the beginning of long texts on a terminal. */
export const FULL_OPTION = new Option('--full', 'Print long texts in full. On a terminal, three lines are shown.');

/** The option of commands that list memories with short ids. */
export const IDS_OPTION = new Option('--ids', 'Print ids in full.');

/** Flags that many commands share: settings, and how the result is printed. */
export type CommonFlags = Flags & ViewFlags & { json?: true; ids?: true };

/** How times and long texts are printed. */
export interface ViewFlags extends TimeFlags {
  full?: true;
}

const destructiveCommands = new WeakSet<Command>();

/**
 * Marks a command as one that deletes or replaces data, or removes protection, so that the command is never suggested.
 * Returns the command.
 */
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
 * Returns a suggestion for an unknown command name in a group or in the program (see `getSuggestion`). Returns an empty
 * string if no command is similar, or if a destructive command is among the most similar commands.
 */
export function suggestedCommand({ commands }: Command, name: string): string {
  const similar = getSuggestion(name, commands.flatMap(commandNames));
  const harmless = commands.filter((command) => !isDestructive(command));
  return similar === getSuggestion(name, harmless.flatMap(commandNames)) ? similar : '';
}

/** Makes a command group fail with a UsageError if the command line names no known subcommand. */
export function needsCommand(group: Command): void {
  group.allowUnknownOption().allowExcessArguments();
  group.action(() => {
    const names = group.commands.map((command) => command.name());
    const similar = suggestedCommand(group, group.args[0] ?? '');
    throw new UsageError(`memoryd ${group.name()} needs one of ${names.join(', ')}${similar}`);
  });
}

/** The command that runs if the command line names no command. */
export const DEFAULT_COMMAND = 'serve';
