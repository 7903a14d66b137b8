import { once } from 'node:events';
import {
  ConsolidateRequest,
  type ConsolidateResponse,
  type Consolidation,
  type ConsolidationChange,
  type ConsolidationPlan,
  type MemoryApi,
} from '@memoryd/contract';
import type { Command } from 'commander';
import { EXIT_CODES } from '../exit-codes.ts';
import type { Environment } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';
import { type AddCommand, type AnswerFlags, withOptions } from './command.ts';
import { type Needs, withMemories, withMemoryOptions } from './memories.ts';
import { print, printEach, tableFor } from './output.ts';
import { interruptible } from './progress.ts';
import { getRequest, optionsGiven, requestOptions } from './request-options.ts';

const SHAPE = { schema: ConsolidateRequest, fields: ['dry_run', 'min_age_seconds'] } as const;

/** `memoryd consolidate`, and what its runs did. */
export const consolidateCommand: AddCommand = (program, env) => {
  const command = program
    .command('consolidate')
    .description('Promote, merge, distil and expire now. Each run is recorded, and can be taken back.')
    .enablePositionalOptions();
  withOptions(command, requestOptions<ConsolidateRequest>(SHAPE));
  withMemoryOptions(command).action((flags: AnswerFlags) => consolidate(flags, env));
  const runs = command.command('runs').description('List the runs, newest first. As JSON, one a line.');
  withMemoryOptions(runs).action(() => listRuns(getFlags(runs), env));
  const show = command
    .command('show')
    .argument('<id>', 'the run')
    .description('Tell what a run did, in order. As JSON, one change a line.');
  withMemoryOptions(show).action((id: string) => listChanges(id, getFlags(show), env));
  const undo = command.command('undo').argument('<id>', 'the run').description('Take a run back; newer ones first.');
  withMemoryOptions(undo).action((id: string) => undoRun(id, getFlags(undo), env));
};

/** What a command was given, before its name too: `memoryd consolidate --db-path FILE undo ID` is of that file. */
function getFlags(command: Command): AnswerFlags {
  const flags = command.optsWithGlobals<AnswerFlags>();
  const [field] = Object.keys(optionsGiven<ConsolidateRequest>(SHAPE, flags));
  if (field === undefined) return flags;
  throw new UsageError(`--${field.replaceAll('_', '-')} is nothing to memoryd consolidate ${command.name()}`);
}

async function consolidate(flags: AnswerFlags, env: Environment): Promise<void> {
  const request = getRequest<ConsolidateRequest>(SHAPE, flags);
  const answer = await inOrder(flags, env, { model: true }, (api) => api.consolidate(request));
  await print(flags, answer, () => told(answer));
  if (answer.self_check === 'failed') process.exitCode = EXIT_CODES.failed.code;
}

/**
 * Does work of a run, unless the process is told to end: the database is closed then as at any end, so that the next run
 * need not wait until the lease of this one is over.
 */
function inOrder<T>(
  flags: AnswerFlags,
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

async function told(answer: ConsolidateResponse): Promise<string> {
  const { id, consolidated_count, evicted_count, self_check, plan } = answer;
  if (plan) return planned(plan);
  const run = id === undefined ? '' : ` (run ${id})`;
  if (self_check === 'failed') return `taken back: memories were not found as before${run}\n`;
  return `consolidated ${consolidated_count}, evicted ${evicted_count}${run}\n`;
}

/** What would happen, a memory a line; what is more than a plan names is counted. */
async function planned({ promote, merge, distil, evict }: ConsolidationPlan): Promise<string> {
  const rows = [
    ...promote.memories.map(({ id }) => ['promote', id, '']),
    ...merge.memories.map(({ id, merged_into }) => ['merge', id, `into ${merged_into}`]),
    ...distil.memories.map(({ content, derived_from }) => ['distil', derived_from.join(' '), content]),
    ...evict.memories.map(({ id, reason }) => ['evict', id, reason]),
  ];
  const totals = `would promote ${promote.total}, merge ${merge.total}, distil ${distil.total}, evict ${evict.total}\n`;
  return rows.length === 0 ? totals : (await tableFor(['WHAT', 'MEMORY', ''], rows)) + totals;
}

const RUNS = {
  titles: ['RUN', 'STATUS', 'STARTED', 'CONSOLIDATED', 'EVICTED'],
  row: ({ id, status, started_at, consolidated_count, evicted_count }: Consolidation) => [
    ...[id, status, started_at],
    ...[consolidated_count, evicted_count],
  ],
  none: 'there was no run yet',
};

async function listRuns(flags: AnswerFlags, env: Environment): Promise<void> {
  const { eachConsolidation } = await import('@memoryd/client');
  await withMemories(flags, env, {}, ({ api }) => printEach(flags, eachConsolidation(api), RUNS));
}

const CHANGES = {
  titles: ['WHAT', 'MEMORY', ''],
  row: (change: ConsolidationChange) => [change.kind, change.memory_id, getDetail(change)],
  none: 'this run changed nothing',
};

function getDetail({ merged_into, derived_from, superseded_by, reason, before }: ConsolidationChange): string {
  if (merged_into !== undefined) return `into ${merged_into ?? 'a memory that was forgotten'}`;
  if (derived_from !== undefined) return `from ${derived_from.join(' ')}`;
  if (superseded_by !== undefined) return `by ${superseded_by ?? 'a memory that was forgotten'}`;
  if (before !== undefined) return `had tags [${before.tags.join(', ')}] and importance ${before.importance}`;
  return reason ?? '';
}

async function listChanges(id: string, flags: AnswerFlags, env: Environment): Promise<void> {
  const { eachChange } = await import('@memoryd/client');
  await withMemories(flags, env, {}, ({ api }) => printEach(flags, eachChange(api, { id }), CHANGES));
}

async function undoRun(id: string, flags: AnswerFlags, env: Environment): Promise<void> {
  const undone = await inOrder(flags, env, {}, (api) => api.undo(id));
  await print(flags, undone, () => `undone ${undone.id}\n`);
}
