import { runCommandLine } from './command-line.ts';
import { getMessage } from './error-text.ts';
import { EXIT_CODES, getExitCode } from './exit-codes.ts';

/**
 * Runs the command line of the process. If a command fails, prints the error as one line on standard error, and exits
 * with the exit code of the error. Prints nothing if the reader of the output closed the pipe.
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
