import type { CommandWords, OptionWords } from './command-words.ts';

/** A text as bash and zsh take it literally. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Patterns of `PATH NAME`, for every command that a name leads to. */
export function stepPatterns(all: readonly CommandWords[]): string[] {
  return all.flatMap(({ path, commands }) => commands.map(({ name }) => quoted(`${path} ${name}`)));
}

/** Every flag that something follows, in whichever command. */
export function flagsWithValue(all: readonly CommandWords[]): string[] {
  return flagsWhere(all, ({ value }) => value !== undefined);
}

/** Every flag that a path follows. */
export function flagsWithPath(all: readonly CommandWords[]): string[] {
  return flagsWhere(all, ({ value }) => value?.kind === 'path');
}

function flagsWhere(all: readonly CommandWords[], is: (option: OptionWords) => boolean): string[] {
  return [...new Set(all.flatMap(({ options }) => options.filter(is).map(({ flag }) => flag)))];
}

/** Every flag that one of some words follows, with the command that has it. */
export function getChoices(all: readonly CommandWords[]): { path: string; flag: string; choices: readonly string[] }[] {
  return all.flatMap(({ path, options }) =>
    options.flatMap(({ flag, value }) => (value?.kind === 'choice' ? [{ path, flag, choices: value.choices }] : [])),
  );
}
