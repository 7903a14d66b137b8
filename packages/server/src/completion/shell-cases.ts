import type { CommandWords, OptionWords } from './command-words.ts';

/** Quotes a text as a string literal of bash and zsh. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns a `case` pattern for each subcommand: the path of its parent, a space and its name. */
export function getStepPatterns(all: readonly CommandWords[]): string[] {
  return all.flatMap(({ path, commands }) => commands.map(({ name }) => quote(`${path} ${name}`)));
}

export function getFlagsWithValue(all: readonly CommandWords[]): string[] {
  return getFlags(all, ({ value }) => value !== undefined);
}

/** Returns the distinct flags, over all commands, whose value is a path. */
export function getFlagsWithPath(all: readonly CommandWords[]): string[] {
  return getFlags(all, ({ value }) => value?.kind === 'path');
}

function getFlags(all: readonly CommandWords[], matches: (option: OptionWords) => boolean): string[] {
  return [...new Set(all.flatMap(({ options }) => options.filter(matches).map(({ flag }) => flag)))];
}

/** Returns each flag with a fixed set of values, with the path of its command and the values. */
export function getChoices(all: readonly CommandWords[]): { path: string; flag: string; choices: readonly string[] }[] {
  return all.flatMap(({ path, options }) =>
    options.flatMap(({ flag, value }) => (value?.kind === 'choice' ? [{ path, flag, choices: value.choices }] : [])),
  );
}
