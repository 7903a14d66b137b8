import { runCommandLine } from './command-line.ts';
import { getMessage } from './error-text.ts';
import { EXIT_CODES, getExitCode } from './exit-codes.ts';

/**
 * Runs the command line of the process. Prints an error as one line on standard error, and exits with its exit code.
 */
export async function main(): Promise<void> {
  try {
    await runCommandLine(process.argv.slice(2), process.env);
  } catch (error) {
    const code = getExitCode(error);
    if (code !== EXIT_CODES.closedPipe.code) process.stderr.write(`${getMessage(error).replaceAll('\n', ' ')}\n`);
    process.exit(code);
  }
}
