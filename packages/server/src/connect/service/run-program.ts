import { execFile } from 'node:child_process';
import type { Machine } from '../types.ts';

/** The end of a program: its exit code, and its output on both streams. */
export interface ProgramExit {
  code: number;
  output: string;
}

/** Time after which a program is killed. Stopping a service takes up to nine seconds. */
const TIMEOUT_MS = 60_000;

const MAX_OUTPUT_BYTES = 64 * 1024;

/** The exit code of a shell for a program that is not there. */
const NOT_FOUND = 127;

/**
 * Runs a program without a shell, with the environment of the machine. Never rejects: a program that cannot be started
 * has exit code 127.
 */
export function runProgram({ env }: Machine, program: string, args: readonly string[]): Promise<ProgramExit> {
  return new Promise((resolve) => {
    const options = { env, timeout: TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES } as const;
    execFile(program, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : NOT_FOUND;
      resolve({ code, output: `${stdout}${stderr}`.trim() });
    });
  });
}

/** Returns the id of the user, as the service managers take it. */
export function getUserId(): string {
  return String(process.getuid?.() ?? '');
}
