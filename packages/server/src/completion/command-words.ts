import type { Command, Option } from 'commander';
import { commandNames } from '../commands/command.ts';

/** An option as a shell completes it. */
export interface OptionWords {
  /** With its dashes. */
  flag: string;
  /** One sentence. */
  description: string;
  /** What follows it: nothing, a path, one of some words, or what no shell knows. */
  value?: { kind: 'path' } | { kind: 'choice'; choices: readonly string[] } | { kind: 'text' };
}

/** A command as a shell completes it. */
export interface CommandWords {
  /** The names that lead to it, with blanks between; empty for the program. */
  path: string;
  commands: readonly { name: string; description: string }[];
  options: readonly OptionWords[];
  /** Words that its argument may be. */
  choices: readonly string[];
  /** Whether it takes a path as an argument. */
  takesPath: boolean;
}

/** Every command of a program, itself first, as its tree has them; the program also has the options of its default. */
export function commandWords(program: Command, defaultCommand: string): CommandWords[] {
  const all = walk(program, '');
  const [root, ...others] = all;
  const byDefault = others.find(({ path }) => path === defaultCommand);
  if (!root || !byDefault) return all;
  const known = new Set(root.options.map(({ flag }) => flag));
  return [
    { ...root, options: [...root.options, ...byDefault.options.filter(({ flag }) => !known.has(flag))] },
    ...others,
  ];
}

function walk(command: Command, path: string): CommandWords[] {
  const help = command.createHelp();
  const subcommands = help.visibleCommands(command);
  const words: CommandWords = {
    path,
    commands: subcommands.flatMap((each) =>
      commandNames(each).map((name) => ({ name, description: firstSentence(each.description()) })),
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
  // What a shape writes in capitals stands for something else.
  const choices = argChoices ?? (shape.includes('|') ? shape.split('|').filter((word) => /^[a-z]+$/.test(word)) : []);
  return choices.length > 0 ? { kind: 'choice', choices } : { kind: 'text' };
}

function firstSentence(description: string): string {
  return description.split(/[.;:] /)[0]?.replace(/\.$/, '') ?? '';
}
