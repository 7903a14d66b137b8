import { launch, type ProcessEnvironment } from './process.ts';
import { type Exit, splitLines } from './server.ts';

export interface CommandOptions extends ProcessEnvironment {
  /** The complete standard input of the command. */
  input?: string | Uint8Array | readonly string[];
  env?: Record<string, string>;
}

/** Runs a memoryd command in a process of its own and returns its output and exit code. */
export async function runCommand(
  args: string[],
  { input = '', env, ...environment }: CommandOptions = {},
): Promise<Exit> {
  const launched = launch(args, env, environment);
  for (const piece of [input].flat()) launched.write(piece);
  launched.endInput();
  return launched.exited;
}

/** Runs a command with `--json` in a process of its own and returns the single JSON value that it prints. */
export async function toAnswer<T>(args: string[], options: CommandOptions = {}): Promise<T> {
  return getAnswer(args, await runCommand([...args, '--json'], options));
}

/** Returns the JSON values that a command printed, one per line. Throws if the command failed. */
export function getAnswers<T>(args: readonly string[], { code, stdout, stderr }: Exit): T[] {
  if (code !== 0) throw new Error(`memoryd ${args.join(' ')} ended with ${code}: ${stderr}`);
  return splitLines(stdout).map((line) => JSON.parse(line) as T);
}

/** Returns the single JSON value that a command printed. Throws if the command failed or did not print one line. */
export function getAnswer<T>(args: readonly string[], exit: Exit): T {
  const answers = getAnswers<T>(args, exit);
  if (answers.length !== 1) throw new Error(`memoryd ${args.join(' ')} printed ${answers.length} lines`);
  return answers[0] as T;
}
