import {
  counted,
  ForgetManyRequest,
  type ForgetResponse,
  type MemoriesRequest,
  type MemoryApi,
  parseTime,
} from '@memoryd/contract';
import { EXIT_CODES, getExitCode } from '../exit-codes.ts';
import type { Environment } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';
import { type AddCommand, type AnswerFlags, destructive, withOptions } from './command.ts';
import { inputLines } from './input.ts';
import { OWN_SCOPE_OPTIONS, toScope, withMemories, withMemoryOptions } from './memories.ts';
import { note, print } from './output.ts';
import { getRequest, optionsGiven, requestOptions } from './request-options.ts';

type ForgetFlags = AnswerFlags & { yes?: true; user?: string; agent?: string };

const SHAPE = { schema: ForgetManyRequest, fields: ['session_id', 'tag', 'source', 'metadata', 'before'] } as const;

/** `memoryd forget ID…`, or by what many have in common. */
export const forgetCommand: AddCommand = (program, env) => {
  const command = destructive(program.command('forget'))
    .alias('rm')
    .argument('[id...]', 'the memories; - reads their ids from standard input, one a line')
    .description('Remove memories for good: the ones named, or all that every given option selects.')
    .option('--yes', 'do it; without it, many are counted and nothing is forgotten');
  withOptions(command, requestOptions<ForgetManyRequest>(SHAPE));
  withMemoryOptions(command, OWN_SCOPE_OPTIONS).action((ids: string[], flags: ForgetFlags) => forget(ids, flags, env));
};

async function forget(ids: readonly string[], flags: ForgetFlags, env: Environment): Promise<void> {
  const isOfScope = ids.length === 0 && toScope(flags) !== undefined;
  const selects = isOfScope || Object.keys(optionsGiven<ForgetManyRequest>(SHAPE, flags)).length > 0;
  if (selects && ids.length > 0) throw new UsageError('memoryd forget takes ids or options that select, not both');
  if (!selects && ids.length === 0) throw new UsageError('memoryd forget needs an id, or an option that selects');
  await withMemories(flags, env, {}, ({ api }) => (selects ? forgetMany(api, flags) : forgetEach(api, ids, flags)));
}

async function forgetEach(api: MemoryApi, ids: readonly string[], flags: ForgetFlags): Promise<void> {
  /** Ids that were forgotten with another one. */
  const gone = new Set<string>();
  for await (const id of getIds(ids)) {
    if (gone.has(id)) continue;
    const forgotten = await forgetIfThere(api, id);
    for (const other of forgotten?.also_forgotten ?? []) gone.add(other);
    if (forgotten) await print(flags, forgotten, () => told(forgotten));
  }
}

/** One that is not there keeps no other from being forgotten; the exit code tells of it. */
async function forgetIfThere(api: MemoryApi, id: string): Promise<ForgetResponse | undefined> {
  try {
    return await api.forget(id);
  } catch (error) {
    if (getExitCode(error) !== EXIT_CODES.notFound.code) throw error;
    note(`${id}: memory not found`);
    process.exitCode = EXIT_CODES.notFound.code;
    return undefined;
  }
}

async function* getIds(ids: readonly string[]): AsyncIterable<string> {
  if (ids.join(' ') !== '-') yield* ids;
  else for await (const { number, text } of inputLines()) yield getId(text, number);
}

function getId(text: string | undefined, number: number): string {
  if (text === undefined) throw new UsageError(`line ${number} is not UTF-8`);
  return text.trim();
}

function told({ id, also_forgotten: also = [], remaining_duplicates: remaining = [], purge }: ForgetResponse): string {
  const beside = also.length === 0 ? '' : `, and with it ${also.join(', ')}`;
  const left = remaining.length === 0 ? '' : `; its text is still in ${remaining.join(', ')}`;
  return `forgotten ${id}${beside}${left}${getPurge(purge)}\n`;
}

function getPurge(purge: 'pending' | undefined): string {
  return purge === undefined ? '' : '; the old bytes go as soon as nothing reads them';
}

async function forgetMany(api: MemoryApi, flags: ForgetFlags): Promise<void> {
  const { user, agent } = flags;
  const owner = { ...(user !== undefined && { user_id: user }), ...(agent !== undefined && { agent_id: agent }) };
  const request = getRequest<ForgetManyRequest>(SHAPE, flags, owner);
  if (!flags.yes) {
    const total = await getCount(api, request);
    throw new UsageError(
      `this forgets ${counted(total, 'memory', 'memories')} for good, and all that was made of that; --yes does it`,
    );
  }
  const forgotten = await api.forgetMany(request);
  const count = forgotten.forgotten_count;
  await print(
    flags,
    forgotten,
    () => `forgotten ${counted(count, 'memory', 'memories')}${getPurge(forgotten.purge)}\n`,
  );
}

async function getCount(api: MemoryApi, { before, tag, ...same }: ForgetManyRequest): Promise<number> {
  const request: MemoriesRequest = {
    ...same,
    ...(tag !== undefined && { tag: [tag] }),
    ...(before !== undefined && { until: justBefore(before) }),
    limit: 1,
  };
  return (await api.memories(request)).total;
}

/** The last moment of which `before` is later: times are kept to the millisecond. */
function justBefore(before: string): string {
  return new Date((parseTime(before) ?? 0) - 1).toISOString();
}
