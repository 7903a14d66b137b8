import { runCommandLine } from './command-line.ts';
import { EXIT_CODES, exitCodeOf } from './exit-codes.ts';

/** Does what the process's command line asks for. What keeps it from doing so is one line on standard error. */
export async function main(): Promise<void> {
  try {
    await runCommandLine(process.argv.slice(2), process.env);
  } catch (error) {
    const code = exitCodeOf(error);
    if (code !== EXIT_CODES.unread.code) process.stderr.write(`${messageOf(error)}\n`);
    process.exit(code);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.replaceAll('\n', ' ') : String(error);
}
