import { basename, resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';

/** Returns a commander parser for integers from `min` to `max`. */
export function parseInteger(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`Use an integer from ${min} to ${max}.`);
  };
}

/** Commander parser that collects the values of a repeatable option. */
export function collectValue(text: string, before: string[] = []): string[] {
  return [...before, text];
}

/** Commander parser that collects `KEY=VALUE` pairs of a repeatable option. */
export function collectPair(text: string, before: Record<string, string>): Record<string, string> {
  const [key = '', ...value] = text.split('=');
  if (key === '' || value.length === 0) throw new InvalidArgumentError('Use the form KEY=VALUE.');
  return { ...before, [key]: value.join('=') };
}

/**
 * Formats the command that reproduces a figure. Callers pass folder names instead of paths, because paths differ
 * between machines.
 */
export function formatCommand(
  script: string,
  options: readonly (readonly [flag: string, value?: string | number])[],
): string {
  return [`npm run ${script} --`, ...options.map((option) => option.join(' '))].join(' ');
}

/** Returns the last part of a folder's path. */
export function getFolderName(path: string): string {
  return basename(resolve(path));
}
