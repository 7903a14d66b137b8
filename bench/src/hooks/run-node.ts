import { spawn } from 'node:child_process';

/** Maximum time of a process, for a busy machine. */
const TIMEOUT_MS = 120_000;

export interface NodeRun {
  /** Time from the start of the process until it has exited and its output is read, in ms. */
  durationMs: number;
  output: string;
}

/**
 * Runs Node and writes a text to its standard input.
 *
 * @throws if the process does not exit with 0 within 120 s
 */
export function runNode(
  args: readonly string[],
  { input, folder, signal }: { input: string; folder: string; signal: AbortSignal },
): Promise<NodeRun> {
  return new Promise((resolve, reject) => {
    const startMs = performance.now();
    const child = spawn(process.execPath, args, {
      cwd: folder,
      stdio: ['pipe', 'pipe', 'inherit'],
      signal,
      timeout: TIMEOUT_MS,
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    // A process may exit without reading its input.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    child.on('error', reject);
    child.on('close', (code, killSignal) => {
      const durationMs = performance.now() - startMs;
      if (code === 0) resolve({ durationMs, output });
      else reject(new Error(`node ${args[0]} must exit with 0, but ended with ${code ?? killSignal}`));
    });
  });
}
