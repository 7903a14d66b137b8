import { launch, type Surroundings } from './process.ts';
import type { Exit } from './server.ts';

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

/** As `runCommand`, and answers the JSON values that it prints, one a line. */
async function answersOf<T>(args: string[], options: CommandOptions = {}): Promise<T[]> {
  const { code, stdout, stderr } = await runCommand([...args, '--json'], options);
  if (code !== 0) throw new Error(`memoryd ${args.join(' ')} ended with ${code}: ${stderr}`);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

/** The one JSON value that a command prints. */
export async function answerOf<T>(args: string[], options: CommandOptions = {}): Promise<T> {
  const answers = await answersOf<T>(args, options);
  if (answers.length !== 1) throw new Error(`memoryd ${args.join(' ')} printed ${answers.length} lines`);
  return answers[0] as T;
}
