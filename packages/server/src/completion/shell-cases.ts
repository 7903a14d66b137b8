import type { CommandWords, OptionWords } from './command-words.ts';

/** Returns a text as a literal of bash and zsh. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns a pattern `PATH NAME` for every command below the program. */
export function getStepPatterns(all: readonly CommandWords[]): string[] {
  return all.flatMap(({ path, commands }) => commands.map(({ name }) => quote(`${path} ${name}`)));
}

export function getFlagsWithValue(all: readonly CommandWords[]): string[] {
  return getFlags(all, ({ value }) => value !== undefined);
}

/** Returns the flags of all commands that take a path. */
export function getFlagsWithPath(all: readonly CommandWords[]): string[] {
  return getFlags(all, ({ value }) => value?.kind === 'path');
}

function getFlags(all: readonly CommandWords[], matches: (option: OptionWords) => boolean): string[] {
  return [...new Set(all.flatMap(({ options }) => options.filter(matches).map(({ flag }) => flag)))];
}

/** Returns the flags that take one of some words, with their commands. */
export function getChoices(all: readonly CommandWords[]): { path: string; flag: string; choices: readonly string[] }[] {
  return all.flatMap(({ path, options }) =>
    options.flatMap(({ flag, value }) => (value?.kind === 'choice' ? [{ path, flag, choices: value.choices }] : [])),
  );
}
