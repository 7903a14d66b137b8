import { type MemoryApi, type StoreBatchResult, StoreRequest } from '@memoryd/contract';
import { Option } from 'commander';
import { type Environment, SettingsError } from '../settings.ts';
import { type AddCommand, withOptions } from './command.ts';
import { type InputLine, inputLines, inputText, isTyped } from './input.ts';
import { type Memories, type MemoriesFlags, withMemories, withMemoryOptions } from './memories.ts';
import { note, print, write } from './output.ts';
import { interruptible, showProgress } from './progress.ts';
import { optionsGiven, requestOf, requestOptions } from './request-options.ts';

type StoreFlags = MemoriesFlags & { lines?: true; ndjson?: true; idempotencyKey?: string };

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
    .argument('[text...]', 'the memory; - or nothing reads it from standard input')
    .description('Keep a memory, or many: one a line of standard input.')
    .addOption(new Option('--lines', 'Keep each line of standard input as a memory.').conflicts('ndjson'))
    .option('--ndjson', 'Keep each line of standard input as a memory in JSON, with the fields of POST /store.')
    .option('--idempotency-key <text>', 'The same key with the same memory within 24 hours stores once.');
  withOptions(command, requestOptions<StoreRequest>(SHAPE));
  withMemoryOptions(command).action((words: string[], flags: StoreFlags) =>
    flags.lines || flags.ndjson ? storeLines(words, flags, env) : storeOne(words, flags, env),
  );
};

async function storeOne(words: readonly string[], flags: StoreFlags, env: Environment): Promise<void> {
  const request = requestOf<StoreRequest>(SHAPE, flags, { content: await contentOf(words) });
  const { idempotencyKey } = flags;
  const stored = await withMemories(flags, env, { model: true, make: true }, ({ api }) =>
    api.store(request, idempotencyKey === undefined ? {} : { idempotencyKey }),
  );
  await print(flags, stored, () => `stored ${stored.id}${redactedIn(stored)}\n`);
}

function redactedIn({ redacted }: { redacted?: unknown }): string {
  return redacted === undefined ? '' : ', with secrets taken out';
}

async function contentOf(words: readonly string[]): Promise<string> {
  if (words.length > 0 && words.join(' ') !== '-') return words.join(' ');
  if (words.length === 0 && isTyped()) {
    throw new SettingsError('memoryd store needs a text; - reads it from standard input');
  }
  return inputText();
}

async function storeLines(words: readonly string[], flags: StoreFlags, env: Environment): Promise<void> {
  if (words.length > 0 && words.join(' ') !== '-') {
    throw new SettingsError('--lines and --ndjson read standard input; they take no text');
  }
  const told = { stored: 0, refused: [] as string[] };
  await withMemories(flags, env, { model: true, make: true }, async (memories) => {
    await storeAll(memories.api, flags, told);
    await untilEmbedded(memories);
  });
  if (!flags.json) await write(`stored ${told.stored}, refused ${told.refused.length}\n${refusalsOf(told.refused)}`);
  if (told.refused.length > 0) process.exitCode = 1;
}

function refusalsOf(refused: readonly string[]): string {
  const more = refused.length - TOLD_REFUSALS;
  const lines = refused.slice(0, TOLD_REFUSALS).map((refusal) => `${refusal}\n`);
  return lines.join('') + (more > 0 ? `and ${more} more\n` : '');
}

async function storeAll(api: MemoryApi, flags: StoreFlags, told: { stored: number; refused: string[] }): Promise<void> {
  const progress = showProgress('storing', 'memories');
  const { idempotencyKey } = flags;
  let batchNumber = 0;
  try {
    for await (const batch of batchesOf(flags)) {
      const key = idempotencyKey === undefined ? {} : { idempotencyKey: `${idempotencyKey}-${batchNumber++}` };
      const { results } = await api.storeBatch(
        batch.map(({ request }) => request),
        key,
      );
      for (const [i, result] of results.entries()) await tell(flags, batch[i]?.number ?? 0, result, told);
      progress.show(told.stored + told.refused.length, 0);
    }
  } finally {
    progress.end();
  }
}

interface Line {
  number: number;
  request: StoreRequest;
}

async function* batchesOf(flags: StoreFlags): AsyncIterable<Line[]> {
  const given = optionsGiven<StoreRequest>(SHAPE, flags);
  let batch: Line[] = [];
  let chars = 0;
  for await (const line of inputLines()) {
    batch.push({
      number: line.number,
      request: { ...given, ...(flags.ndjson ? parse(line) : { content: line.text }) },
    });
    chars += line.text.length;
    if (batch.length < BATCH_SIZE && chars < BATCH_CHARS) continue;
    yield batch;
    [batch, chars] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}

// What is wrong with its fields is told by who keeps it.
function parse({ number, text }: InputLine): StoreRequest {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as StoreRequest;
  } catch {
    // Told below.
  }
  throw new SettingsError(`line ${number} is no JSON object; what came before it is stored as far as it was told`);
}

async function tell(
  flags: StoreFlags,
  line: number,
  result: StoreBatchResult,
  told: { stored: number; refused: string[] },
): Promise<void> {
  if (flags.json) await write(`${JSON.stringify('error' in result ? { line, ...result } : result)}\n`);
  if ('error' in result) told.refused.push(`line ${line}: ${result.error.message}`);
  else told.stored++;
}

const LOOK_EVERY_MS = 100;

/** Waits for the vectors of what was stored, which would else be made by whoever opens the database next. */
async function untilEmbedded({ waiting }: Memories): Promise<void> {
  const progress = showProgress('embedding', 'memories');
  const all = await waiting();
  await interruptible(async (signal) => {
    for (let left = all; left > 0 && !signal.aborted; left = await waiting()) {
      progress.show(Math.max(0, all - left), all);
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    if (signal.aborted) note('memoryd: all is stored; what has no vector yet gets it when the database is opened next');
  }).finally(progress.end);
}
