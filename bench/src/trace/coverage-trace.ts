import { existsSync, readFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { SourceMap } from 'node:module';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The parts of the code that a call ran through. */
export interface Traced {
  /** Source files of the checkout by thread, each relative to the checkout. */
  files: Map<string, Set<string>>;
  /** Number of calls that a thread was asked for. */
  threadCalls: number;
}

interface FunctionCoverage {
  functionName: string;
  ranges: { startOffset: number; count: number }[];
}
interface ScriptCoverage {
  url: string;
  functions: FunctionCoverage[];
}
interface Attached {
  sessionId: string;
  workerInfo: { url: string; title: string };
}
interface Received {
  sessionId: string;
  message: string;
}

/** The function of Piscina that sends a call to a thread. */
const THREAD_CALL = { package: 'piscina', functionName: 'runTask' };

/**
 * Records the functions that run in the main thread and in all worker threads, by the precise coverage of V8
 * (chromedevtools.github.io/devtools-protocol, domain Profiler).
 */
export class CoverageTrace {
  readonly #checkout: string;
  readonly #session = new Session();
  /** Titles of the worker threads by the id of their inspector session. */
  readonly #workers = new Map<string, string>();
  readonly #answers = new Map<number, (result: { result?: ScriptCoverage[] }) => void>();
  readonly #sources = new Map<string, { map: SourceMap; lineStarts: number[] } | undefined>();
  #lastId = 0;
  #turning: NodeJS.Timeout | undefined;

  private constructor(checkout: string) {
    this.#checkout = resolve(checkout);
  }

  static async start(checkout: string): Promise<CoverageTrace> {
    const trace = new CoverageTrace(checkout);
    await trace.#connect();
    return trace;
  }

  async #connect(): Promise<void> {
    const session = this.#session;
    session.connect();
    session.on('NodeWorker.attachedToWorker', ({ params }: { params: object }) => {
      const { sessionId, workerInfo } = params as Attached;
      this.#workers.set(sessionId, workerInfo.title);
    });
    session.on('NodeWorker.receivedMessageFromWorker', ({ params }: { params: object }) => {
      const { message } = params as Received;
      const { id, result } = JSON.parse(message) as { id?: number; result: { result?: ScriptCoverage[] } };
      if (id !== undefined) this.#answers.get(id)?.(result);
    });
    // Answers of workers arrive only while the event loop of the main thread turns.
    this.#turning = setInterval(() => {}, 1);
    await this.#post('NodeWorker.enable', { waitForDebuggerOnStart: false });
    await this.#everywhere('Profiler.enable');
    await this.#everywhere('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  }

  /** Runs a call, and returns the parts of the code that it ran through. */
  async record(call: () => Promise<unknown>): Promise<Traced> {
    await this.#everywhere('Profiler.takePreciseCoverage');
    await call();
    const taken = await this.#everywhere('Profiler.takePreciseCoverage');
    const files = new Map<string, Set<string>>();
    for (const [thread, scripts] of taken) {
      const ofThread = new Set(scripts.flatMap((script) => this.#getSources(script)));
      if (ofThread.size > 0) files.set(thread, ofThread);
    }
    const all = [...taken.values()].flat();
    return { files, threadCalls: all.reduce((sum, script) => sum + countThreadCalls(script), 0) };
  }

  #getSources({ url, functions }: ScriptCoverage): string[] {
    return functions.flatMap(
      ({ ranges: [whole] }) => (whole && whole.count > 0 && this.#getSource(url, whole.startOffset)) || [],
    );
  }

  async stop(): Promise<void> {
    await this.#everywhere('Profiler.disable');
    await this.#post('NodeWorker.disable');
    this.#session.disconnect();
    clearInterval(this.#turning);
  }

  #post(method: string, params?: object): Promise<object> {
    return new Promise((done, fail) => {
      this.#session.post(method, params, (error: Error | null, result?: object) =>
        error ? fail(error) : done(result ?? {}),
      );
    });
  }

  /** Sends a command to the main thread and all worker threads. Returns the coverage of each. */
  async #everywhere(method: string, params: object = {}): Promise<Map<string, ScriptCoverage[]>> {
    const taken = new Map<string, ScriptCoverage[]>();
    const main = (await this.#post(method, params)) as { result?: ScriptCoverage[] };
    taken.set('main thread', main.result ?? []);
    for (const [sessionId, title] of this.#workers) {
      const id = ++this.#lastId;
      const answer = new Promise<{ result?: ScriptCoverage[] }>((done) => this.#answers.set(id, done));
      await this.#post('NodeWorker.sendMessageToWorker', {
        sessionId,
        message: JSON.stringify({ id, method, params }),
      });
      taken.set(`${title} ${sessionId}`, (await answer).result ?? []);
      this.#answers.delete(id);
    }
    return taken;
  }

  /** Returns the source file of a place in a script; undefined if the script is not of the checkout. */
  #getSource(url: string, offset: number): string | undefined {
    if (!url.startsWith('file:')) return undefined;
    const path = fileURLToPath(url);
    if (!path.startsWith(`${this.#checkout}/`) || path.includes('/node_modules/')) return undefined;
    const script = this.#getScript(path);
    if (!script) return relative(this.#checkout, path);
    const line = script.lineStarts.findLastIndex((start) => start <= offset);
    const entry = script.map.findEntry(line, offset - (script.lineStarts[line] as number));
    if (!('originalSource' in entry)) return undefined;
    const source = relative(this.#checkout, resolve(path, '..', entry.originalSource));
    return source.startsWith('..') || source.includes('node_modules/')
      ? undefined
      : source.replace('/dist/', '/src/').replace(/\.js$/, '.ts');
  }

  #getScript(path: string): { map: SourceMap; lineStarts: number[] } | undefined {
    if (!this.#sources.has(path)) {
      const text = readFileSync(path, 'utf8');
      const map = existsSync(`${path}.map`)
        ? new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')))
        : undefined;
      const lineStarts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
      this.#sources.set(path, map && { map, lineStarts });
    }
    return this.#sources.get(path);
  }
}

function countThreadCalls({ url, functions }: ScriptCoverage): number {
  if (!url.includes(`/${THREAD_CALL.package}/`)) return 0;
  const calls = functions.filter(({ functionName }) => functionName === THREAD_CALL.functionName);
  return calls.reduce((sum, { ranges }) => sum + (ranges[0]?.count ?? 0), 0);
}
