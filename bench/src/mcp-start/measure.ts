import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/** Maximum time of one step, for a busy machine. */
const TIMEOUT_MS = 120_000;

const INITIALIZE = {
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } },
};

/** One start of an MCP server over stdio. */
export interface Start {
  /** Time from the start of the process to the response to `initialize`, in ms. */
  initializeMs: number;
  /** Time from the start of the process to the response to `tools/list`, in ms. */
  toolsListMs: number;
  /** Time from SIGINT to the exit of the process, in ms. */
  exitMs: number;
  /** Length of the result of `tools/list` as JSON. */
  toolsListCharacters: number;
}

/**
 * Starts an MCP server with Node, lists its tools, and stops it with SIGINT.
 *
 * @throws with the end of its standard error if the process exits early, or takes more than 120 s for a step
 */
export async function measureStart(
  args: readonly string[],
  environment: Record<string, string>,
  signal: AbortSignal,
): Promise<Start> {
  const startMs = performance.now();
  const child = spawn(process.execPath, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  });
  try {
    const server = new Connection(child, AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]));
    await server.request(1, INITIALIZE);
    const initializeMs = performance.now() - startMs;
    server.send({ method: 'notifications/initialized' });
    const tools = await server.request(2, { method: 'tools/list' });
    const toolsListMs = performance.now() - startMs;
    const signalMs = performance.now();
    child.kill('SIGINT');
    await server.exited();
    const exitMs = performance.now() - signalMs;
    return { initializeMs, toolsListMs, exitMs, toolsListCharacters: JSON.stringify(tools).length };
  } finally {
    child.kill('SIGKILL');
  }
}

/** A JSON-RPC connection to a process, with one request at a time. */
class Connection {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #lines: AsyncIterator<string>;
  readonly #signal: AbortSignal;
  #errors = '';

  constructor(child: ChildProcessByStdio<Writable, Readable, Readable>, signal: AbortSignal) {
    this.#child = child;
    this.#signal = signal;
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    // The process may have exited; `request` reports it.
    child.stdin.on('error', () => undefined);
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-2000);
    });
    signal.addEventListener('abort', () => child.kill('SIGKILL'), { once: true });
  }

  send(message: object): void {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  /** Sends a request and returns its result. Ignores notifications. */
  async request(id: number, message: { method: string }): Promise<unknown> {
    this.send({ id, ...message });
    while (true) {
      const { value, done } = await this.#lines.next();
      this.#signal.throwIfAborted();
      if (done) throw new Error(`the MCP server exited before it answered ${message.method}: ${this.#errors}`);
      const response = JSON.parse(value) as { id?: number; result?: unknown; error?: object };
      if (response.error) throw new Error(`${message.method} failed: ${JSON.stringify(response.error)}`);
      if (response.id === id) return response.result;
    }
  }

  async exited(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit');
    this.#signal.throwIfAborted();
  }
}
