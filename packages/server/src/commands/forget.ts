import {
  ForgetManyRequest,
  type ForgetResponse,
  formatCount,
  type MemoriesRequest,
  type MemoryApi,
  parseTime,
} from '@memoryd/contract';
import { EXIT_CODES, getExitCode } from '../exit-codes.ts';
import type { Environment } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';
import { type AddCommand, type CommonFlags, destructive, withExamples, withOptions } from './command.ts';
import { inputLines } from './input.ts';
import { OWN_SCOPE_OPTIONS, toOwner, toScope, withMemories, withMemoryOptions } from './memories.ts';
import { MEMORY_ID_HELP, resolveId } from './memory-id.ts';
import { note, print } from './output.ts';
import { getRequest, optionsGiven, requestOptions } from './request-options.ts';

type ForgetFlags = CommonFlags & { yes?: true };

const SHAPE = {
  schema: ForgetManyRequest,
  fields: ['session_id', 'tag', 'source', 'external_id', 'metadata', 'filter', 'before'],
} as const;

/** `memoryd forget ID…`, or with options that select memories. */
export const forgetCommand: AddCommand = (program, env) => {
  const command = destructive(program.command('forget'))
    .alias('rm')
    .argument('[id...]', `${MEMORY_ID_HELP}; - reads ids from standard input, one a line`)
    .summary('Delete memories for good.')
    .description('Delete memories for good: by their ids, or all that match every given option.')
    .option('--yes', 'Confirm. Without it, memories that options select are counted, not deleted.');
  withOptions(command, requestOptions<ForgetManyRequest>(SHAPE));
  withExamples(
    command,
    'memoryd forget 893564f3',
    'memoryd forget --session-id notes --yes',
    'memoryd forget --user ada --yes',
  );
  withMemoryOptions(command, OWN_SCOPE_OPTIONS).action((ids: string[], flags: ForgetFlags) => forget(ids, flags, env));
};

async function forget(ids: readonly string[], flags: ForgetFlags, env: Environment): Promise<void> {
  const isWholeScope = ids.length === 0 && toScope(flags) !== undefined;
  const selects = isWholeScope || Object.keys(optionsGiven<ForgetManyRequest>(SHAPE, flags)).length > 0;
  if (selects && ids.length > 0) {
    throw new UsageError('memoryd forget takes ids or options that select memories, not both');
  }
  if (!selects && ids.length === 0) {
    throw new UsageError('memoryd forget needs an id, or an option that selects memories, such as --tag');
  }
  await withMemories(flags, env, {}, ({ api }) => (selects ? forgetMany(api, flags) : forgetEach(api, ids, flags)));
}

async function forgetEach(api: MemoryApi, ids: readonly string[], flags: ForgetFlags): Promise<void> {
  /** Ids of memories that were already forgotten together with another memory. */
  const gone = new Set<string>();
  for await (const id of getIds(api, ids)) {
    if (gone.has(id)) continue;
    const forgotten = await forgetIfFound(api, id);
    for (const other of forgotten?.also_forgotten ?? []) gone.add(other);
    if (forgotten) await print(flags, forgotten, () => format(forgotten));
  }
}

/**
 * Forgets a memory. If the memory is missing, prints a note and sets the exit code instead of throwing, so that the
 * remaining memories are still forgotten.
 */
async function forgetIfFound(api: MemoryApi, id: string): Promise<ForgetResponse | undefined> {
  try {
    return await api.forget(id);
  } catch (error) {
    if (getExitCode(error) !== EXIT_CODES.notFound.code) throw error;
    note(`${id}: memory not found`);
    process.exitCode = EXIT_CODES.notFound.code;
    return undefined;
  }
}

/**
 * Yields memory ids, with shortened ids resolved by `resolveId`. Ids from arguments are all resolved before the first
 * id is yielded; ids from standard input are resolved one by one.
 */
async function* getIds(api: MemoryApi, ids: readonly string[]): AsyncIterable<string> {
  if (ids.join(' ') !== '-') {
    const whole: string[] = [];
    for (const id of ids) whole.push(await resolveId(api, id));
    yield* whole;
  } else {
    for await (const { number, text } of inputLines()) yield resolveId(api, getId(text, number));
  }
}

function getId(text: string | undefined, number: number): string {
  if (text === undefined) throw new UsageError(`line ${number} of standard input must be UTF-8`);
  return text.trim();
}

function format({
  id,
  also_forgotten: also = [],
  remaining_duplicates: remaining = [],
  purge,
}: ForgetResponse): string {
  const others = also.length === 0 ? '' : `, and with it ${also.join(', ')}`;
  const left = remaining.length === 0 ? '' : `; its text is still in ${remaining.join(', ')}`;
  return `forgotten ${id}${others}${left}${formatPurge(purge)}\n`;
}

function formatPurge(purge: 'pending' | undefined): string {
  return purge === undefined ? '' : '; the bytes are overwritten when no running read needs them';
}

async function forgetMany(api: MemoryApi, flags: ForgetFlags): Promise<void> {
  const request = getRequest<ForgetManyRequest>(SHAPE, flags, toOwner(flags));
  if (!flags.yes) {
    const total = await countMatches(api, request);
    throw new UsageError(
      `the command permanently forgets ${formatCount(total, 'memory', 'memories')} and the semantic memories ` +
        `distilled from ${total === 1 ? 'it' : 'them'}; add --yes to confirm`,
    );
  }
  const forgotten = await api.forgetMany(request);
  const count = forgotten.forgotten_count;
  await print(
    flags,
    forgotten,
    () => `forgotten ${formatCount(count, 'memory', 'memories')}${formatPurge(forgotten.purge)}\n`,
  );
}

async function countMatches(api: MemoryApi, { before, tag, ...same }: Omit<ForgetManyRequest, 'id'>): Promise<number> {
  const request: MemoriesRequest = {
    ...same,
    ...(tag !== undefined && { tag: [tag] }),
    ...(before !== undefined && { until: justBefore(before) }),
    limit: 1,
  };
  return (await api.memories(request)).total;
}

/** Converts the exclusive time `before` to the inclusive time `until`, one millisecond earlier. */
function justBefore(before: string): string {
  return new Date((parseTime(before) ?? 0) - 1).toISOString();
}
