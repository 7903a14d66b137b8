import { counted, type MemoryApi, type StoreBatchResult, StoreRequest } from '@memoryd/contract';
import { Option } from 'commander';
import { EXIT_CODES } from '../exit-codes.ts';
import type { Environment } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';
import { type AddCommand, type AnswerFlags, withOptions } from './command.ts';
import { inputLines, inputText, isTyped } from './input.ts';
import { type Memories, OWN_SCOPE_OPTIONS, withMemories, withMemoryOptions } from './memories.ts';
import { note, print, write } from './output.ts';
import { interruptible, showProgress } from './progress.ts';
import { getRequest, optionsGiven, requestOptions } from './request-options.ts';

type StoreFlags = AnswerFlags & { lines?: true; ndjson?: true; idempotencyKey?: string };

const SHAPE = {
  schema: StoreRequest,
  fields: ['tags', 'importance', 'source', 'session_id', 'created_at', 'expires_at', 'metadata', 'supersedes'],
} as const;

/** Memories that are sent together, and about how many characters of them: a server may take no more at once. */
const BATCH_SIZE = 256;
const BATCH_CHARS = 1024 * 1024;

/** Refusals that people are told one by one. */
const TOLD_REFUSALS = 100;

/** `memoryd store [TEXT…]`: exit code 1 where a line was refused. */
export const storeCommand: AddCommand = (program, env) => {
  const command = program
    .command('store')
    .alias('add')
    .argument('[text...]', 'the memory; - or nothing reads all of standard input as one memory')
    .description(
      'Store a memory: the text, or all of standard input. With --lines or --ndjson, store each line of it as a memory.',
    )
    .addOption(new Option('--lines', 'Store each line of standard input as a memory.').conflicts('ndjson'))
    .option('--ndjson', 'Store each line of standard input as a memory in JSON, with the fields of POST /store.')
    .option('--idempotency-key <text>', 'The same key with the same memory within 24 hours stores once.');
  withOptions(command, requestOptions<StoreRequest>(SHAPE));
  withMemoryOptions(command, OWN_SCOPE_OPTIONS).action((words: string[], flags: StoreFlags) =>
    flags.lines || flags.ndjson ? storeLines(words, flags, env) : storeOne(words, flags, env),
  );
};

async function storeOne(words: readonly string[], flags: StoreFlags, env: Environment): Promise<void> {
  const request = getRequest<StoreRequest>(SHAPE, flags, { content: await getContent(words) });
  const { idempotencyKey } = flags;
  const stored = await withMemories(flags, env, { model: true, make: true }, ({ api }) =>
    api.store(request, idempotencyKey === undefined ? {} : { idempotencyKey }),
  );
  await print(flags, stored, () => `stored ${stored.id}${redactedIn(stored)}\n`);
}

function redactedIn({ redacted }: { redacted?: unknown }): string {
  return redacted === undefined ? '' : ', with secrets taken out';
}

async function getContent(words: readonly string[]): Promise<string> {
  if (words.length > 0 && words.join(' ') !== '-') return words.join(' ');
  if (words.length === 0 && isTyped()) {
    throw new UsageError('memoryd store needs a text; - reads it from standard input');
  }
  return inputText();
}

async function storeLines(words: readonly string[], flags: StoreFlags, env: Environment): Promise<void> {
  if (words.length > 0 && words.join(' ') !== '-') {
    throw new UsageError('--lines and --ndjson read standard input; they take no text');
  }
  const told = new Told(flags.json === true);
  await withMemories(flags, env, { model: true, make: true }, async (memories) => {
    await storeAll(memories.api, flags, told);
    await untilEmbedded(memories);
  });
  await told.end();
}

/** What became of each line. */
class Told {
  readonly #asJson: boolean;
  readonly #refused: string[] = [];
  #refusedCount = 0;
  storedCount = 0;

  constructor(asJson: boolean) {
    this.#asJson = asJson;
  }

  get count(): number {
    return this.storedCount + this.#refusedCount;
  }

  async line(number: number, result: StoreBatchResult): Promise<void> {
    const isRefused = 'error' in result;
    if (this.#asJson) await write(`${JSON.stringify(isRefused ? { line: number, ...result } : result)}\n`);
    if (!isRefused) this.storedCount++;
    else if (++this.#refusedCount <= TOLD_REFUSALS) this.#refused.push(`line ${number}: ${result.error.message}\n`);
  }

  /** Tells people the sum; the exit code is 1 where a line was refused. */
  async end(): Promise<void> {
    if (this.#refusedCount > 0) process.exitCode = EXIT_CODES.failed.code;
    if (this.#asJson) return;
    const more = this.#refusedCount - this.#refused.length;
    const sum = `stored ${this.storedCount}, refused ${this.#refusedCount}\n`;
    await write(sum + this.#refused.join('') + (more > 0 ? `and ${more} more\n` : ''));
  }
}

async function storeAll(api: MemoryApi, flags: StoreFlags, told: Told): Promise<void> {
  const progress = await showProgress('storing', 'memory', 'memories');
  const { idempotencyKey } = flags;
  let batchNumber = 0;
  try {
    for await (const batch of splitIntoBatches(flags)) {
      const key = idempotencyKey === undefined ? {} : { idempotencyKey: `${idempotencyKey}-${batchNumber++}` };
      const requests = batch.flatMap(({ request }) => request ?? []);
      const results = requests.length === 0 ? [] : (await api.storeBatch(requests, key)).results;
      for (const { number, refusal } of batch) {
        await told.line(number, refusal ?? (results.shift() as StoreBatchResult));
      }
      progress.show(told.count, 0);
    }
  } catch (error) {
    if (told.storedCount > 0)
      note(`memoryd: ${counted(told.storedCount, 'memory was', 'memories were')} stored before`);
    throw error;
  } finally {
    progress.end();
  }
}

/** A line to be stored, or why it cannot be. */
interface Line {
  number: number;
  request?: StoreRequest;
  refusal?: StoreBatchResult;
}

const NO_TEXT: StoreBatchResult = { error: { code: 'INVALID_REQUEST', message: 'it is not UTF-8' } };
const NO_OBJECT: StoreBatchResult = { error: { code: 'INVALID_REQUEST', message: 'it is no JSON object' } };

async function* splitIntoBatches(flags: StoreFlags): AsyncIterable<Line[]> {
  const given = optionsGiven<StoreRequest>(SHAPE, flags);
  let batch: Line[] = [];
  let chars = 0;
  for await (const { number, text } of inputLines()) {
    batch.push({ number, ...requestIn(text, flags, given) });
    chars += text?.length ?? 0;
    if (batch.length < BATCH_SIZE && chars < BATCH_CHARS) continue;
    yield batch;
    [batch, chars] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}

function requestIn(text: string | undefined, { ndjson }: StoreFlags, given: Partial<StoreRequest>) {
  if (text === undefined) return { refusal: NO_TEXT };
  const fields = ndjson ? fieldsIn(text) : { content: text };
  // What is wrong with the fields is told by who keeps them.
  return fields ? { request: { ...given, ...fields } as StoreRequest } : { refusal: NO_OBJECT };
}

function fieldsIn(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const LOOK_EVERY_MS = 100;

/** Waits for the vectors of what was stored, which would else be made by whoever opens the database next. */
async function untilEmbedded({ waiting }: Memories): Promise<void> {
  const progress = await showProgress('embedding', 'memory', 'memories');
  const all = await waiting();
  await interruptible(async (signal) => {
    for (let left = all; left > 0 && !signal.aborted; left = await waiting()) {
      progress.show(Math.max(0, all - left), all);
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    if (signal.aborted) note('memoryd: all is stored; what has no vector yet gets it when the database is opened next');
  }).finally(progress.end);
}
