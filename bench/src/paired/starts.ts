import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Pair } from './ratios.ts';
import type { Side } from './side.ts';

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL('start.js', import.meta.url));

/** Output of `start.ts`. */
export interface StartResult {
  /** Time from process start to the first result, in ms. */
  firstResponseMs: number;
  /** Resident memory in bytes after 300 recalls. */
  residentBytes: number;
}

/**
 * Starts a process with each engine `times` times; the engines take turns in starting first. Returns the time to the
 * first result in ms, and the resident memory in MB.
 */
export async function measureStarts(
  sides: readonly Side[],
  settings: object,
  times: number,
  signal: AbortSignal,
): Promise<Record<string, Pair>> {
  const measured: Record<string, Pair> = { 'first answer': { old: [], new: [] }, 'resident MB': { old: [], new: [] } };
  for (let time = 0; time < times; time++) {
    for (const { name, module, database } of time % 2 === 0 ? sides : [...sides].reverse()) {
      const args = [PROGRAM, module, database, JSON.stringify(settings)];
      const { stdout } = await run(process.execPath, args, { signal });
      const { firstResponseMs, residentBytes } = JSON.parse(stdout) as StartResult;
      measured['first answer']?.[name].push(firstResponseMs);
      measured['resident MB']?.[name].push(residentBytes / 1e6);
    }
  }
  return measured;
}
