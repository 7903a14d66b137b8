import { formatCount, type MemoryApi, type StoreBatchResult, StoreRequest } from '@memoryd/contract';
import { Option } from 'commander';
import { EXIT_CODES } from '../exit-codes.ts';
import type { Environment } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';
import { type AddCommand, type CommonFlags, withExamples, withOptions } from './command.ts';
import { inputLines, inputText, isTyped } from './input.ts';
import { type Memories, OWN_SCOPE_OPTIONS, withMemories, withMemoryOptions } from './memories.ts';
import { withWholeIds } from './memory-id.ts';
import { note, print, write } from './output.ts';
import { interruptible, showProgress } from './progress.ts';
import { getRequest, optionsGiven, requestOptions } from './request-options.ts';

type StoreFlags = CommonFlags & { lines?: true; ndjson?: true; idempotencyKey?: string; externalId?: string };

const SHAPE = {
  schema: StoreRequest,
  fields: [
    ...(['tags', 'importance', 'source', 'session_id', 'external_id'] as const),
    ...(['created_at', 'expires_at', 'valid_from', 'valid_to', 'metadata', 'supersedes'] as const),
  ],
} as const;

/** Maximum number of memories in one request. A server may refuse larger requests. */
const BATCH_SIZE = 256;
/** Number of characters at which a request is sent, even if the request has fewer memories than `BATCH_SIZE`. */
const BATCH_CHARS = 1024 * 1024;

/** Maximum number of refused lines that the summary lists. */
const MAX_PRINTED_REFUSALS = 100;

/** `memoryd store [TEXT…]`: exit code 1 if a line was refused. */
export const storeCommand: AddCommand = (program, env) => {
  const command = program
    .command('store')
    .alias('add')
    .argument('[text...]', 'the memory; - or nothing reads all of standard input as one memory')
    .summary('Store a memory.')
    .description(
      'Store a memory: the text, or all of standard input. With --lines or --ndjson, store each line of standard input ' +
        'as a memory.',
    )
    .addOption(new Option('--lines', 'Store each line of standard input as a memory.').conflicts('ndjson'))
    .option('--ndjson', 'Store each line of standard input as a memory in JSON, with the fields of POST /store.')
    .option('--idempotency-key <text>', 'The same key with the same memory within 24 hours stores once.');
  withOptions(command, requestOptions<StoreRequest>(SHAPE));
  withExamples(
    command,
    "memoryd store --user ada 'Ada is allergic to peanuts' --tag food",
    "memoryd store --user ada 'I like trains' --session-id notes",
    'memoryd store --lines < notes.txt',
  );
  withMemoryOptions(command, OWN_SCOPE_OPTIONS).action((words: string[], flags: StoreFlags) =>
    flags.lines || flags.ndjson ? storeLines(words, flags, env) : storeOne(words, flags, env),
  );
};

async function storeOne(words: readonly string[], flags: StoreFlags, env: Environment): Promise<void> {
  const request = getRequest<StoreRequest>(SHAPE, flags, { content: await getContent(words) });
  const { idempotencyKey } = flags;
  const stored = await withMemories(flags, env, { model: true, make: true }, async ({ api }) =>
    api.store(await withWholeIds(api, request), idempotencyKey === undefined ? {} : { idempotencyKey }),
  );
  await print(
    flags,
    stored,
    () =>
      `${stored.created === false ? 'stored in existing memory' : 'stored'} ${stored.id}${formatRedacted(stored)}\n`,
  );
}

function formatRedacted({ redacted }: { redacted?: unknown }): string {
  return redacted === undefined ? '' : ', with secrets removed';
}

async function getContent(words: readonly string[]): Promise<string> {
  if (words.length > 0 && words.join(' ') !== '-') return words.join(' ');
  if (words.length === 0 && isTyped()) {
    throw new UsageError('memoryd store needs a text, or - to read the text from standard input');
  }
  return inputText();
}

async function storeLines(words: readonly string[], flags: StoreFlags, env: Environment): Promise<void> {
  if (flags.externalId !== undefined) {
    throw new UsageError('--external-id names one memory; give each line of --ndjson its own external_id');
  }
  if (words.length > 0 && words.join(' ') !== '-') {
    throw new UsageError('--lines and --ndjson read standard input; remove the text');
  }
  const report = new StoreReport(flags.json === true);
  await withMemories(flags, env, { model: true, make: true }, async (memories) => {
    await storeAll(memories.api, flags, report);
    await untilEmbedded(memories);
  });
  await report.end();
}

/** Prints the result of each line as JSON, or a summary for people. */
class StoreReport {
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

  async addLine(number: number, result: StoreBatchResult): Promise<void> {
    const isRefused = 'error' in result;
    if (this.#asJson) await write(`${JSON.stringify(isRefused ? { line: number, ...result } : result)}\n`);
    if (!isRefused) this.storedCount++;
    else if (++this.#refusedCount <= MAX_PRINTED_REFUSALS) {
      this.#refused.push(`line ${number}: ${result.error.message}\n`);
    }
  }

  /** Sets the exit code 1 if a line was refused. Prints the summary, except with JSON output. */
  async end(): Promise<void> {
    if (this.#refusedCount > 0) process.exitCode = EXIT_CODES.failed.code;
    if (this.#asJson) return;
    const more = this.#refusedCount - this.#refused.length;
    const summary = `stored ${this.storedCount}, refused ${this.#refusedCount}\n`;
    await write(summary + this.#refused.join('') + (more > 0 ? `and ${more} more\n` : ''));
  }
}

async function storeAll(api: MemoryApi, flags: StoreFlags, report: StoreReport): Promise<void> {
  const progress = await showProgress('storing', 'memory', 'memories');
  const { idempotencyKey } = flags;
  const given = await withWholeIds(api, optionsGiven<StoreRequest>(SHAPE, flags));
  let batchNumber = 0;
  try {
    for await (const batch of splitIntoBatches(flags, given)) {
      const key = idempotencyKey === undefined ? {} : { idempotencyKey: `${idempotencyKey}-${batchNumber++}` };
      const requests = batch.flatMap(({ request }) => request ?? []);
      const results = requests.length === 0 ? [] : (await api.storeBatch(requests, key)).results;
      for (const { number, refusal } of batch) {
        await report.addLine(number, refusal ?? (results.shift() as StoreBatchResult));
      }
      progress.show(report.count, 0);
    }
  } catch (error) {
    if (report.storedCount > 0)
      note(`memoryd: ${formatCount(report.storedCount, 'memory was', 'memories were')} stored before`);
    throw error;
  } finally {
    progress.end();
  }
}

/** A line of input: a store request, or the error of an invalid line. */
interface Line {
  number: number;
  request?: StoreRequest;
  refusal?: StoreBatchResult;
}

const NOT_UTF_8: StoreBatchResult = { error: { code: 'INVALID_REQUEST', message: 'the line must be UTF-8' } };
const NOT_AN_OBJECT: StoreBatchResult = {
  error: { code: 'INVALID_REQUEST', message: 'the line must be a JSON object' },
};

async function* splitIntoBatches(flags: StoreFlags, given: Partial<StoreRequest>): AsyncIterable<Line[]> {
  let batch: Line[] = [];
  let chars = 0;
  for await (const { number, text } of inputLines()) {
    batch.push({ number, ...toRequest(text, flags, given) });
    chars += text?.length ?? 0;
    if (batch.length < BATCH_SIZE && chars < BATCH_CHARS) continue;
    yield batch;
    [batch, chars] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}

function toRequest(text: string | undefined, { ndjson }: StoreFlags, given: Partial<StoreRequest>) {
  if (text === undefined) return { refusal: NOT_UTF_8 };
  const fields = ndjson ? parseFields(text) : { content: text };
  // The API checks the fields.
  return fields ? { request: { ...given, ...fields } as StoreRequest } : { refusal: NOT_AN_OBJECT };
}

function parseFields(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const POLL_INTERVAL_MS = 100;

/**
 * Waits until the stored memories are embedded. After an interruption, the next process that opens the database with
 * its embedding model embeds the remaining memories.
 */
async function untilEmbedded({ countPending }: Memories): Promise<void> {
  const progress = await showProgress('embedding', 'memory', 'memories');
  const total = await countPending();
  await interruptible(async (signal) => {
    for (let pending = total; pending > 0 && !signal.aborted; pending = await countPending()) {
      progress.show(Math.max(0, total - pending), total);
      await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS));
    }
    if (signal.aborted)
      note('memoryd: all memories are stored; missing vectors are created when the database is next opened');
  }).finally(progress.end);
}
