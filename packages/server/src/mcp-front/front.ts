import { readFileSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import type { AgentInput } from './agent-input.ts';
import { readArguments } from './arguments.ts';
import { Conversation } from './conversation.ts';
import type { PreparedResponses } from './prepared.ts';

/**
 * Time without a message after which the real server is loaded, in milliseconds. A client that starts the process only
 * to ask for its revision or its tools has ended the process by then.
 */
const QUIET_MS = 1000;

/** Maximum size of a line that is answered here, in bytes; larger lines are for the real server. */
const MAX_LINE_BYTES = 65_536;

const NEWLINE = 10;

type LoadServer = () => Promise<{ main(input: AgentInput): Promise<void> }>;

/**
 * Serves an agent on standard input and output: answers the first messages from prepared answers, and loads the real
 * server at the first other message, or when the client is quiet. Returns false, without reading anything, for a
 * command line that the command line itself must read.
 *
 * @param args the arguments after `mcp`
 * @param loadServer loads the module with the real server
 */
export function serveFront(args: readonly string[], env: NodeJS.ProcessEnv, loadServer: LoadServer): boolean {
  const prepared: PreparedResponses = JSON.parse(
    readFileSync(new URL('./memoryd-front.json', import.meta.url), 'utf8'),
  );
  const given = readArguments(args, prepared.options);
  const conversation = given && Conversation.create(prepared, given);
  if (conversation === undefined) return false;
  const hasSettings = args.length > 0 || Object.keys(env).some((name) => name.startsWith('SERVICE_'));
  new Front(conversation, loadServer, hasSettings).start();
  return true;
}

class Front implements AgentInput {
  readonly #conversation: Conversation;
  readonly #loadServer: LoadServer;
  readonly #hasSettings: boolean;
  /** The bytes after the last complete line. */
  #partial: Buffer = Buffer.alloc(0);
  #quiet: NodeJS.Timeout | undefined;
  #isLoading = false;
  /** Whether a message waits for the real server. */
  #isWaiting = false;
  #hasEnded = false;
  #signal: NodeJS.Signals | undefined;

  constructor(conversation: Conversation, loadServer: LoadServer, hasSettings: boolean) {
    this.#conversation = conversation;
    this.#loadServer = loadServer;
    this.#hasSettings = hasSettings;
  }

  start(): void {
    const { stdin, stdout } = process;
    stdin.on('data', this.#read).on('end', this.#end).on('error', this.#end);
    stdout.on('error', this.#exit);
    // Before a message waits, a signal ends the process by itself, even while modules load, which blocks handlers. But
    // the first process of a container ignores signals without a handler.
    if (process.pid === 1) this.#handleSignals();
    this.#awaitQuiet();
  }

  get isOver(): boolean {
    return this.#hasEnded;
  }

  take(): readonly string[] {
    const { stdin, stdout } = process;
    const { answered } = this.#conversation;
    stdin.off('data', this.#read).off('end', this.#end).off('error', this.#end).pause();
    stdout.off('error', this.#exit);
    if (this.#partial.length > 0) stdin.unshift(this.#partial);
    if (answered.length > 0) stdin.unshift(Buffer.from(`${answered.join('\n')}\n`));
    return answered;
  }

  resume(): void {
    process.off('SIGINT', this.#stop).off('SIGTERM', this.#stop);
    process.stdin.resume();
    if (this.#signal) process.emit(this.#signal);
  }

  readonly #read = (chunk: Buffer): void => {
    let bytes = this.#partial.length > 0 ? Buffer.concat([this.#partial, chunk]) : chunk;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE)) {
      const answer = this.#conversation.answer(bytes.toString('utf8', 0, end));
      if (answer === undefined) {
        this.#wait(bytes);
        return;
      }
      if (answer !== '') process.stdout.write(answer);
      bytes = bytes.subarray(end + 1);
    }
    this.#partial = bytes;
    if (bytes.length > MAX_LINE_BYTES) this.#wait(bytes);
    else if (!this.#isLoading) this.#awaitQuiet();
  };

  /** Hands the remaining input, from `bytes` on, to the server. */
  #wait(bytes: Buffer): void {
    this.#isWaiting = true;
    this.#handleSignals();
    this.#partial = Buffer.alloc(0);
    // Unread input stays in the pipe.
    process.stdin.off('data', this.#read).pause();
    process.stdin.unshift(bytes);
    void this.#load();
  }

  readonly #end = (): void => {
    this.#hasEnded = true;
    if (this.#hasSettings) void this.#load();
    else this.#exit();
  };

  readonly #stop = (signal: NodeJS.Signals): void => {
    if (this.#isWaiting) this.#signal = signal;
    else this.#exit();
  };

  readonly #exit = (): void => {
    process.stdout.write('', () => process.exit(0));
  };

  /** Handles signals. Does nothing if they are handled already, because `resume` removes each handler once. */
  #handleSignals(): void {
    if (process.listeners('SIGINT').includes(this.#stop)) return;
    process.on('SIGINT', this.#stop).on('SIGTERM', this.#stop);
  }

  #awaitQuiet(): void {
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => void this.#load(), QUIET_MS);
  }

  async #load(): Promise<void> {
    if (this.#isLoading) return;
    this.#isLoading = true;
    clearTimeout(this.#quiet);
    // In a folder of the user, because others could write to the default folder, which is shared.
    const { default: getPaths } = await import('env-paths');
    enableCompileCache(getPaths('memoryd', { suffix: '' }).cache);
    await (await this.#loadServer()).main(this);
  }
}
