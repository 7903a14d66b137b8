import { spawnSync } from 'node:child_process';

/**
 * Whether a program is there. Where it is not, and this is no CI, tests that need it are left out, and say so.
 *
 * @throws Error in a CI, where nothing is left out
 */
export function isThere(program: string): boolean {
  const { error } = spawnSync(program, ['--version'], { timeout: 20_000 });
  if (!error) return true;
  if (process.env.CI) throw new Error(`${program} is missing, and a CI leaves nothing out`, { cause: error });
  // biome-ignore lint/suspicious/noConsole: who runs the tests learns what was left out, and why
  console.log(`left out, since ${program} is not installed`);
  return false;
}
