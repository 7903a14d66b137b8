import { Readable, Writable } from 'node:stream';
import { vi } from 'vitest';
import { runCommandLine } from '../src/command-line.ts';
import { exitCodeOf } from '../src/exit-codes.ts';
import { messageOf } from '../src/message-of.ts';
import type { CommandOptions } from './command.ts';
import { type Exit, splitLines } from './server.ts';

type HereOptions = Pick<CommandOptions, 'input' | 'env'>;

/**
 * Runs a command of memoryd in the process of the test, which takes a small part of the time that a process of its own
 * would take. Only one command may run so at a time, and none that serves, since that would end with the process.
 */
export async function runHere(args: readonly string[], { input = '', env = {} }: HereOptions = {}): Promise<Exit> {
  const stdin = Readable.from([input].flat().map((piece) => Buffer.from(piece)));
  const [stdout, stderr] = [new Collected(), new Collected()];
  const { FORCE_COLOR, NO_COLOR } = process.env;
  const streams = [
    vi.spyOn(process, 'stdin', 'get').mockReturnValue(stdin as typeof process.stdin),
    vi.spyOn(process, 'stdout', 'get').mockReturnValue(stdout as Writable as typeof process.stdout),
    vi.spyOn(process, 'stderr', 'get').mockReturnValue(stderr as Writable as typeof process.stderr),
  ];
  // The runner of the tests asks for colours.
  delete process.env.FORCE_COLOR;
  process.env.NO_COLOR = '1';
  try {
    const code = await codeOf(runCommandLine(args, env), stderr);
    return { code, stdout: stdout.text, stderr: stderr.text };
  } finally {
    process.exitCode = undefined;
    setVariable('FORCE_COLOR', FORCE_COLOR);
    setVariable('NO_COLOR', NO_COLOR);
    for (const stream of streams) stream.mockRestore();
  }
}

/** The JSON values that such a command prints, one a line. */
export async function answersHere<T>(args: readonly string[], options: HereOptions = {}): Promise<T[]> {
  const { code, stdout, stderr } = await runHere([...args, '--json'], options);
  if (code !== 0) throw new Error(`memoryd ${args.join(' ')} ended with ${code}: ${stderr}`);
  return splitLines(stdout).map((line) => JSON.parse(line) as T);
}

/** The one JSON value that such a command prints. */
export async function answerHere<T>(args: readonly string[], options: HereOptions = {}): Promise<T> {
  const answers = await answersHere<T>(args, options);
  if (answers.length !== 1) throw new Error(`memoryd ${args.join(' ')} printed ${answers.length} lines`);
  return answers[0] as T;
}

/** What a process would end with after the command, as `main` does it. */
async function codeOf(command: Promise<void>, stderr: Writable): Promise<number> {
  try {
    await command;
    return Number(process.exitCode ?? 0);
  } catch (error) {
    stderr.write(`${messageOf(error).replaceAll('\n', ' ')}\n`);
    return exitCodeOf(error);
  }
}

/** A stream that keeps what is written to it. */
class Collected extends Writable {
  text = '';

  constructor() {
    super({ decodeStrings: false });
  }

  override _write(text: string | Buffer, _encoding: string, done: () => void): void {
    this.text += text;
    done();
  }
}

function setVariable(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}
