import { once } from 'node:events';
import {
  ConsolidateRequest,
  type ConsolidateResponse,
  type Consolidation,
  type ConsolidationChange,
  type ConsolidationPlan,
  type MemoryApi,
  UndoRequest,
} from '@memoryd/contract';
import type { Command } from 'commander';
import { EXIT_CODES } from '../exit-codes.ts';
import type { Environment } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';
import { type AddCommand, type CommonFlags, FULL_OPTION, withExamples, withOptions } from './command.ts';
import { toShortTime } from './local-time.ts';
import { type Needs, withMemories, withMemoryOptions } from './memories.ts';
import { asTable, formatTable, print, printEach } from './output.ts';
import { interruptible } from './progress.ts';
import { getRequest, optionsGiven, requestOptions } from './request-options.ts';
import type { Cell } from './table.ts';

const UNDO_SHAPE = { schema: UndoRequest, fields: ['with_later'] } as const;
const SHAPE = { schema: ConsolidateRequest, fields: ['dry_run', 'min_age_seconds'] } as const;

/** `memoryd consolidate` and its subcommands, which list, show and undo consolidation runs. */
export const consolidateCommand: AddCommand = (program, env) => {
  const command = program
    .command('consolidate')
    .description(
      'Promote, merge, distil and expire memories now. Each run is recorded, and can be undone, newest first.',
    )
    .enablePositionalOptions();
  command.summary('Promote, merge, distil and expire memories now.');
  withOptions(command, [...requestOptions<ConsolidateRequest>(SHAPE), FULL_OPTION]);
  withExamples(command, 'memoryd consolidate --dry-run', 'memoryd consolidate', 'memoryd consolidate runs');
  withMemoryOptions(command).action((flags: CommonFlags) => consolidate(flags, env));
  const runs = command.command('runs').description('List the runs, newest first. With --json, prints one a line.');
  withMemoryOptions(runs).action(() => listRuns(getFlags(runs), env));
  const show = command
    .command('show')
    .argument('<id>', 'id of the run')
    .description('List the changes of a run, in order. With --json, prints one a line.');
  withMemoryOptions(withOptions(show, [FULL_OPTION])).action((id: string) => listChanges(id, getFlags(show), env));
  const undo = command
    .command('undo')
    .argument('<id>', 'id of the run')
    .description(
      'Undo a run. Runs are undone newest first: if later runs changed something, undo them first or use --with-later.',
    );
  withOptions(undo, requestOptions<UndoRequest>(UNDO_SHAPE));
  withMemoryOptions(undo).action((id: string) => undoRun(id, getFlags(undo), env));
};

/**
 * Returns the flags of a subcommand, including flags before its name, as in `memoryd consolidate --db-path FILE undo
 * ID`. Throws a UsageError for a flag that only `memoryd consolidate` itself accepts.
 */
function getFlags(command: Command): CommonFlags {
  const flags = command.optsWithGlobals<CommonFlags>();
  const [field] = Object.keys(optionsGiven<ConsolidateRequest>(SHAPE, flags));
  if (field === undefined) return flags;
  throw new UsageError(
    `memoryd consolidate ${command.name()} does not take --${field.replaceAll('_', '-')}; remove the option`,
  );
}

async function consolidate(flags: CommonFlags, env: Environment): Promise<void> {
  const request = getRequest<ConsolidateRequest>(SHAPE, flags);
  const result = await runInterruptibly(flags, env, { model: true }, (api) => api.consolidate(request));
  await print(flags, result, () => format(result, flags));
  if (result.self_check === 'failed') process.exitCode = EXIT_CODES.failed.code;
}

/**
 * Runs work, and rejects at SIGINT or SIGTERM. If the command opened a database, the database is then closed. Closing
 * releases the consolidation lease, so that the next run does not have to wait until the lease expires.
 */
function runInterruptibly<T>(
  flags: CommonFlags,
  env: Environment,
  needs: Needs,
  work: (api: MemoryApi) => Promise<T>,
): Promise<T> {
  return interruptible((signal) =>
    withMemories(flags, env, needs, ({ api }) => Promise.race([work(api), rejectionBy(signal)])),
  );
}

async function rejectionBy(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  throw signal.reason;
}

async function format(response: ConsolidateResponse, flags: CommonFlags): Promise<string> {
  const { id, consolidated_count, evicted_count, self_check, plan } = response;
  if (plan) return formatPlan(plan, flags);
  const run = id === undefined ? '' : ` (run ${id})`;
  if (self_check === 'failed') return `rolled back: recall did not return the same memories as before${run}\n`;
  return `consolidated ${consolidated_count}, evicted ${evicted_count}${run}\n`;
}

/** Formats a plan as a row for each listed memory, followed by the total of each kind of change. */
async function formatPlan({ promote, merge, distil, evict }: ConsolidationPlan, flags: CommonFlags): Promise<string> {
  const rows: Cell[][] = [
    ...promote.memories.map(({ id }) => ['promote', id, '']),
    ...merge.memories.map(({ id, merged_into }) => ['merge', id, { words: `into ${merged_into}` }]),
    ...distil.memories.map(({ content, derived_from }) => [
      'distil',
      '-',
      { text: content, words: `from ${derived_from.join(' ')}` },
    ]),
    ...evict.memories.map(({ id, reason }) => ['evict', id, reason]),
  ];
  const totals = `would promote ${promote.total}, merge ${merge.total}, distil ${distil.total}, evict ${evict.total}\n`;
  return rows.length === 0 ? totals : (await formatTable(['CHANGE', 'MEMORY', 'DETAIL'], rows, flags)) + totals;
}

const getRunsFormat = (flags: CommonFlags) => ({
  format: asTable(
    ['RUN', 'STATUS', 'STARTED', 'CONSOLIDATED', 'EVICTED'],
    ({ id, status, started_at, consolidated_count, evicted_count }: Consolidation) => [
      ...[id, status, toShortTime(started_at, flags)],
      ...[consolidated_count, evicted_count],
    ],
    flags,
  ),
  none: 'there are no runs',
});

async function listRuns(flags: CommonFlags, env: Environment): Promise<void> {
  const { eachConsolidation } = await import('@memoryd/client');
  await withMemories(flags, env, {}, ({ api }) => printEach(flags, eachConsolidation(api), getRunsFormat(flags)));
}

const getChangesFormat = (flags: CommonFlags) => ({
  format: asTable(
    ['CHANGE', 'MEMORY', 'DETAIL'],
    (change: ConsolidationChange) => [change.kind, change.memory_id, getDetail(change)],
    flags,
  ),
  none: 'this run changed nothing',
});

function getDetail({ merged_into, derived_from, superseded_by, reason, before }: ConsolidationChange): Cell {
  if (merged_into !== undefined) return { words: `into ${merged_into ?? 'a memory that was forgotten'}` };
  if (derived_from !== undefined) return { words: `from ${derived_from.join(' ')}` };
  if (superseded_by !== undefined) return { words: `by ${superseded_by ?? 'a memory that was forgotten'}` };
  if (before !== undefined) return { text: `had tags [${before.tags.join(', ')}] and importance ${before.importance}` };
  return reason ?? '';
}

async function listChanges(id: string, flags: CommonFlags, env: Environment): Promise<void> {
  const { eachChange } = await import('@memoryd/client');
  await withMemories(flags, env, {}, ({ api }) => printEach(flags, eachChange(api, { id }), getChangesFormat(flags)));
}

async function undoRun(id: string, flags: CommonFlags, env: Environment): Promise<void> {
  const request = getRequest<UndoRequest>(UNDO_SHAPE, flags);
  const undone = await runInterruptibly(flags, env, {}, (api) => api.undo(id, request));
  const ids = [...(undone.also_undone ?? []), undone.id];
  await print(flags, undone, () => ids.map((each) => `undone ${each}\n`).join(''));
}
