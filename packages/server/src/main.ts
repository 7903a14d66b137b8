import { runCommandLine } from './command-line.ts';
import { mcpCommand } from './commands/mcp.ts';
import { getMessage } from './error-text.ts';
import { EXIT_CODES, getExitCode } from './exit-codes.ts';
import type { AgentInput } from './mcp-front/agent-input.ts';

/**
 * Runs the command line of the process. If a command fails, prints the error as one line on standard error, and exits
 * with the exit code of the error. Prints nothing if the reader of the output closed the pipe.
 *
 * @param input of `memoryd mcp`, if its first messages were answered before
 */
export async function main(input?: AgentInput): Promise<void> {
  try {
    await runCommandLine(process.argv.slice(2), process.env, input && [mcpCommand(input)]);
  } catch (error) {
    const code = getExitCode(error);
    if (code !== EXIT_CODES.closedPipe.code) process.stderr.write(`${getMessage(error).replaceAll('\n', ' ')}\n`);
    process.exit(code);
  }
}
