import { type ChildProcess, fork } from 'node:child_process';
import { invalidRequest, MemoryError } from '@memoryd/contract';
import { getBuiltFile } from '../../built-folder.ts';
import { getAvailableBytes } from '../../machine-memory.ts';
import type { Part } from '../format.ts';
import type { Defect, ReaderData, ReaderRequest, ReaderResponse } from './reader-messages.ts';

/** Memory of a reader process. A value of a file may have 64 MiB, and takes several times as much when parsed. */
const MAX_MEMORY_MB = 768;
const MIN_MEMORY_MB = 128;

/** Share of the memory of the machine or container that one of four concurrent reader processes may take. */
const MEMORY_SHARE = 1 / 8;

/** Maximum time without a message of a process that is at work, in ms. */
const MAX_SILENT_MS = 60_000;

/** Reads an uploaded file in a process of its own. */
export class Reader {
  readonly #process: ChildProcess;
  readonly #onDefect: (defect: Defect) => void;
  readonly #memoryMb: number;
  #waiting: PromiseWithResolvers<ReaderResponse> | undefined;
  #silence: NodeJS.Timeout | undefined;
  #ended: Error | undefined;

  /**
   * Starts the process.
   *
   * @param onDefect called with errors in the file that the format did not expect
   * @param memoryMb maximum memory of the process in megabytes, without the bytes that it reads
   */
  constructor(data: ReaderData, onDefect: (defect: Defect) => void, memoryMb = getMemoryMb()) {
    this.#onDefect = onDefect;
    this.#memoryMb = memoryMb;
    // The process runs the built file even if the service runs from source.
    this.#process = fork(getBuiltFile('memoryd-import-reader.js'), [], {
      execArgv: [`--max-old-space-size=${memoryMb}`],
      // The texts of an import can be large, and JSON would copy them once more.
      serialization: 'advanced',
      // V8 prints the stack of a process that runs out of memory.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.#process.send(data);
    this.#process.on('message', (response) => this.#receive(response as ReaderResponse));
    this.#process.on('error', (error) => this.#end(error));
    this.#process.on('exit', () => this.#end(this.#createMemoryLimitError()));
  }

  /** Recognizes the file. Throws INVALID_REQUEST if the format is unknown, or is not the requested one. */
  async open(): Promise<ReaderResponse & { kind: 'opened' }> {
    return expectKind(await this.#ask('open'), 'opened');
  }

  /** Reads all parts from the beginning. One batch is read ahead. Only one pass may be read at a time. */
  async *read(): AsyncIterable<Part> {
    expectKind(await this.#ask('start'), 'started');
    for (let asked = this.#ask('next'); ; ) {
      const { parts, isLast, defects } = expectKind(await asked, 'batch');
      for (const defect of defects) this.#onDefect(defect);
      if (!isLast) {
        asked = this.#ask('next');
        // The parts of this batch are stored first, and the error is thrown after them.
        asked.catch(() => undefined);
      }
      yield* parts;
      if (isLast) return;
    }
  }

  /** Ends the process. Calls in progress fail with the reason. */
  stop(reason: Error = new Error('the reader was stopped')): void {
    this.#end(reason);
    this.#process.kill('SIGKILL');
  }

  #ask(request: ReaderRequest): Promise<ReaderResponse> {
    if (this.#ended) return Promise.reject(this.#ended);
    if (this.#waiting) throw new Error('the reader has not responded to the request before');
    this.#waiting = Promise.withResolvers();
    this.#awaitMessage();
    this.#process.send(request);
    return this.#waiting.promise;
  }

  #receive(response: ReaderResponse): void {
    const waiting = this.#waiting;
    if (!waiting) return;
    if (response.kind === 'alive') {
      this.#awaitMessage();
      return;
    }
    clearTimeout(this.#silence);
    this.#waiting = undefined;
    if (response.kind === 'refused') {
      const { code, message, details } = response.error;
      waiting.reject(new MemoryError(code, message, { ...(details && { details }) }));
    } else if (response.kind === 'failed') waiting.reject(response.error);
    else waiting.resolve(response);
  }

  #awaitMessage(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      this.#end(createRefusal(`reading an item of it takes more than ${MAX_SILENT_MS / 1000} seconds`));
      this.#process.kill('SIGKILL');
    }, MAX_SILENT_MS);
  }

  #createMemoryLimitError(): MemoryError {
    return createRefusal(`reading it takes more than ${this.#memoryMb} MB of memory`);
  }

  #end(error: Error): void {
    this.#ended ??= error;
    clearTimeout(this.#silence);
    this.#waiting?.reject(this.#ended);
    this.#waiting = undefined;
  }
}

/** Returns the maximum memory of a process in megabytes. */
function getMemoryMb(): number {
  const share = Math.floor((getAvailableBytes() / 2 ** 20) * MEMORY_SHARE);
  return Math.min(MAX_MEMORY_MB, Math.max(MIN_MEMORY_MB, share));
}

function createRefusal(reason: string): MemoryError {
  return invalidRequest([
    { path: '', message: `the file cannot be imported: ${reason}; split it, or export it again from its program` },
  ]);
}

function expectKind<Kind extends ReaderResponse['kind']>(
  response: ReaderResponse,
  kind: Kind,
): ReaderResponse & { kind: Kind } {
  if (response.kind !== kind) throw new Error(`the reader responded with ${response.kind} instead of ${kind}`);
  return response as ReaderResponse & { kind: Kind };
}
