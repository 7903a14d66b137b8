import { launch, type Surroundings } from './process.ts';
import { type Exit, splitLines } from './server.ts';

export interface CommandOptions extends Surroundings {
  /** What stands on its standard input, which then ends. */
  input?: string | Uint8Array | readonly string[];
  env?: Record<string, string>;
}

/** Runs a command of memoryd until it ends. */
export async function runCommand(
  args: string[],
  { input = '', env, ...surroundings }: CommandOptions = {},
): Promise<Exit> {
  const launched = launch(args, env, surroundings);
  for (const piece of [input].flat()) launched.write(piece);
  launched.endInput();
  return launched.exited;
}

/** Returns the one JSON value that a command prints. */
export async function toAnswer<T>(args: string[], options: CommandOptions = {}): Promise<T> {
  return getAnswer(args, await runCommand([...args, '--json'], options));
}

/** Returns the JSON values that a command has printed, one a line; throws if it failed. */
export function getAnswers<T>(args: readonly string[], { code, stdout, stderr }: Exit): T[] {
  if (code !== 0) throw new Error(`memoryd ${args.join(' ')} ended with ${code}: ${stderr}`);
  return splitLines(stdout).map((line) => JSON.parse(line) as T);
}

/** Returns the one JSON value that a command has printed; throws if it failed. */
export function getAnswer<T>(args: readonly string[], exit: Exit): T {
  const answers = getAnswers<T>(args, exit);
  if (answers.length !== 1) throw new Error(`memoryd ${args.join(' ')} printed ${answers.length} lines`);
  return answers[0] as T;
}
