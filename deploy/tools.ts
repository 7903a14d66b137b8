import { spawnSync } from 'node:child_process';

/**
 * Returns whether a program is installed. If not, logs that tests are skipped because the program is missing.
 *
 * @throws Error if the program is missing in CI, where no test may be skipped
 */
export function isInstalled(program: string): boolean {
  const { error } = spawnSync(program, ['--version'], { timeout: 20_000 });
  if (!error) return true;
  if (process.env.CI)
    throw new Error(`${program} is missing; install it, because CI must not skip tests`, { cause: error });
  // biome-ignore lint/suspicious/noConsole: the test run must show skipped tests
  console.log(`skipped: ${program} is not installed`);
  return false;
}
