import { Readable, Writable } from 'node:stream';
import { vi } from 'vitest';
import { runCommandLine } from '../src/command-line.ts';
import { getMessage } from '../src/error-text.ts';
import { getExitCode } from '../src/exit-codes.ts';
import { type CommandOptions, getAnswer, getAnswers } from './command.ts';
import type { Exit } from './server.ts';

type InProcessOptions = Pick<CommandOptions, 'input' | 'env'>;

/**
 * Runs a memoryd command in the test's process, which is much faster than starting a process. Only one command may run
 * this way at a time. Commands that serve are not supported, since they end only with the process.
 */
export async function runInProcess(
  args: readonly string[],
  { input = '', env = {} }: InProcessOptions = {},
): Promise<Exit> {
  const stdin = Readable.from([input].flat().map((piece) => Buffer.from(piece)));
  const [stdout, stderr] = [new TextCollector(), new TextCollector()];
  const { FORCE_COLOR, NO_COLOR } = process.env;
  const streams = [
    vi.spyOn(process, 'stdin', 'get').mockReturnValue(stdin as typeof process.stdin),
    vi.spyOn(process, 'stdout', 'get').mockReturnValue(stdout as Writable as typeof process.stdout),
    vi.spyOn(process, 'stderr', 'get').mockReturnValue(stderr as Writable as typeof process.stderr),
  ];
  // Vitest sets FORCE_COLOR.
  delete process.env.FORCE_COLOR;
  process.env.NO_COLOR = '1';
  try {
    const code = await getCode(runCommandLine(args, env), stderr);
    return { code, stdout: stdout.text, stderr: stderr.text };
  } finally {
    process.exitCode = undefined;
    setVariable('FORCE_COLOR', FORCE_COLOR);
    setVariable('NO_COLOR', NO_COLOR);
    for (const stream of streams) stream.mockRestore();
  }
}

/** Runs a command with `--json` in the test's process and returns the JSON values that it prints, one per line. */
export async function getJsonLinesInProcess<T>(args: readonly string[], options: InProcessOptions = {}): Promise<T[]> {
  return getAnswers(args, await runInProcess([...args, '--json'], options));
}

/** Runs a command with `--json` in the test's process and returns the single JSON value that it prints. */
export async function getJsonInProcess<T>(args: readonly string[], options: InProcessOptions = {}): Promise<T> {
  return getAnswer(args, await runInProcess([...args, '--json'], options));
}

/** Returns the exit code that `main` would set for the command. */
async function getCode(command: Promise<void>, stderr: Writable): Promise<number> {
  try {
    await command;
    return Number(process.exitCode ?? 0);
  } catch (error) {
    stderr.write(`${getMessage(error).replaceAll('\n', ' ')}\n`);
    return getExitCode(error);
  }
}

/** A stream that collects the written text. */
class TextCollector extends Writable {
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
