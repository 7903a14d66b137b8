import type { Command, Option } from 'commander';
import { commandNames } from '../commands/command.ts';

/** The completion data of an option. */
export interface OptionWords {
  /** The long flag, with its dashes. */
  flag: string;
  /** The first sentence of the option's description. */
  description: string;
  /** The kind of the option's value. Undefined for an option without a value. */
  value?: { kind: 'path' } | { kind: 'choice'; choices: readonly string[] } | { kind: 'text' };
}

/** The completion data of a command. */
export interface CommandWords {
  /** Names of the parent commands and of the command, separated by spaces. Empty for the program. */
  path: string;
  commands: readonly { name: string; description: string }[];
  options: readonly OptionWords[];
  /** Allowed values of the command's argument; empty if the values are not fixed. */
  choices: readonly string[];
  /** Whether the command's argument is a path. */
  takesPath: boolean;
}

/**
 * Returns the completion data of the program and of all its commands. The program also has the options of its default
 * command.
 */
export function commandWords(program: Command, defaultCommand: string): CommandWords[] {
  const all = walk(program, '');
  const [root, ...others] = all;
  const defaultWords = others.find(({ path }) => path === defaultCommand);
  if (!root || !defaultWords) return all;
  const known = new Set(root.options.map(({ flag }) => flag));
  return [
    { ...root, options: [...root.options, ...defaultWords.options.filter(({ flag }) => !known.has(flag))] },
    ...others,
  ];
}

function walk(command: Command, path: string): CommandWords[] {
  const help = command.createHelp();
  const subcommands = help.visibleCommands(command);
  const words: CommandWords = {
    path,
    commands: subcommands.flatMap((each) =>
      commandNames(each).map((name) => ({ name, description: firstSentence(each.summary() || each.description()) })),
    ),
    options: help.visibleOptions(command).flatMap(optionWords),
    choices: command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
    takesPath: command.registeredArguments.some((argument) => argument.name() === 'file'),
  };
  const below = subcommands.flatMap((each) =>
    commandNames(each).flatMap((name) => walk(each, `${path} ${name}`.trim())),
  );
  return [words, ...below];
}

function optionWords(option: Option): OptionWords[] {
  if (!option.long) return [];
  const words = { flag: option.long, description: firstSentence(option.description) };
  const shape = /[<[](.*)[>\]]/.exec(option.flags)?.[1];
  return [shape === undefined ? words : { ...words, value: valueWords(option, shape) }];
}

function valueWords({ argChoices }: Option, shape: string): NonNullable<OptionWords['value']> {
  if (shape === 'file' || shape === 'path') return { kind: 'path' };
  // Words in capitals are placeholders, not values.
  const choices = argChoices ?? (shape.includes('|') ? shape.split('|').filter((word) => /^[a-z]+$/.test(word)) : []);
  return choices.length > 0 ? { kind: 'choice', choices } : { kind: 'text' };
}

function firstSentence(description: string): string {
  return description.split(/[.;:] /)[0]?.replace(/\.$/, '') ?? '';
}
