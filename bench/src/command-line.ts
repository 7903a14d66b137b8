import { basename, resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';

/** Reads a whole number within limits; for commander, which shows the error beside the option. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}

/** Gathers an option that may be given several times. */
export function gather(text: string, before: string[] = []): string[] {
  return [...before, text];
}

/** Gathers `KEY=VALUE` pairs. */
export function gatherPair(text: string, before: Record<string, string>): Record<string, string> {
  const [key = '', ...value] = text.split('=');
  if (key === '' || value.length === 0) throw new InvalidArgumentError('It must look like KEY=VALUE.');
  return { ...before, [key]: value.join('=') };
}

/**
 * The command that makes a figure again. Folders are named without the path to them, which another machine does not
 * share.
 */
export function commandLine(
  script: string,
  options: readonly (readonly [flag: string, value?: string | number])[],
): string {
  return [`npm run ${script} --`, ...options.map((option) => option.join(' '))].join(' ');
}

/** The last part of a folder's path. */
export function folderName(path: string): string {
  return basename(resolve(path));
}
