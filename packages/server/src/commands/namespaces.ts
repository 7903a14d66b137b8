import type { NamespaceSummary } from '@memoryd/contract';
import { counted } from '@memoryd/contract';
import type { Namespaces } from '@memoryd/engine';
import { InvalidArgumentError } from 'commander';
import type { Environment } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';
import { administer, withDatabase } from './administration.ts';
import { type AddCommand, type AnswerFlags, destructive, needsCommand } from './command.ts';
import { print, tableFor } from './output.ts';

type DeleteFlags = AnswerFlags & { yes?: true };
/** A number, or null for what the settings say. */
type QuotaFlags = AnswerFlags & { memories?: number | null; bytes?: number | null };

/** `memoryd namespaces`: whose memories there are, and how many there may be. */
export const namespacesCommand: AddCommand = (program, env) => {
  const group = program.command('namespaces').description('List and delete namespaces, and say what each may hold.');
  needsCommand(group);
  withDatabase(group.command('list').description('List namespaces and what they hold.')).action((flags: AnswerFlags) =>
    listNamespaces(flags, env),
  );
  const remove = destructive(group.command('delete'))
    .description('Delete a namespace for good: memories, history, runs of consolidation, quota and API keys.')
    .argument('<name>', 'the namespace')
    .option('--yes', 'do it; without it nothing is done');
  withDatabase(remove).action((name: string, flags: DeleteFlags) => deleteNamespace(name, flags, env));
  const quota = group
    .command('quota')
    .description('Say what a namespace may hold; what it holds already stays. Without a number, tell it.')
    .argument('<name>', 'the namespace')
    .option('--memories <number>', 'most memories; 0 is any number, "default" what the settings say', toMost)
    .option('--bytes <number>', 'most bytes of their texts; 0 is any number, "default" what the settings say', toMost);
  withDatabase(quota).action((name: string, flags: QuotaFlags) => changeQuota(name, flags, env));
};

function toMost(text: string): number | null {
  if (text === 'default') return null;
  const most = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(most)) throw new InvalidArgumentError('It must be a whole number from 0, or default.');
  return most;
}

async function listNamespaces(flags: AnswerFlags, env: Environment): Promise<void> {
  const listed = await administer(flags, env, ({ namespaces }) => namespaces.list());
  await print(flags, listed, () => describe(listed));
}

function describe(namespaces: readonly NamespaceSummary[]): Promise<string> {
  const titles = ['NAMESPACE', 'WORKING', 'EPISODIC', 'SEMANTIC', 'MEMORIES', 'AT MOST', 'BYTES', 'AT MOST', 'KEYS'];
  const rows = namespaces.map((of) => [
    ...[of.name, of.working_count, of.episodic_count, of.semantic_count],
    ...[of.memories, mostOf(of.quota.memories), of.bytes, mostOf(of.quota.bytes), of.keys],
  ]);
  return tableFor(titles, rows);
}

function mostOf(quota: number | null): string | number {
  return quota === null ? 'default' : quota === 0 ? 'any' : quota;
}

async function deleteNamespace(name: string, flags: DeleteFlags, env: Environment): Promise<void> {
  const deleted = await administer(flags, env, async ({ namespaces }) => {
    if (flags.yes) return namespaces.delete(name);
    const known = await summaryOf(namespaces, name);
    const what = known
      ? `${counted(known.memories, 'memory', 'memories')} and ${counted(known.keys, 'API key')}`
      : 'nothing';
    throw new UsageError(`this deletes the namespace ${name} for good, which holds ${what}; --yes does it`);
  });
  const answer = { name, status: 'deleted', ...deleted };
  const later = deleted.purge ? ' Their bytes go as soon as nothing reads them.' : '';
  await print(
    flags,
    answer,
    () => `The namespace ${name} is gone, with ${counted(deleted.deleted_count, 'memory', 'memories')}.${later}\n`,
  );
}

async function changeQuota(name: string, flags: QuotaFlags, env: Environment): Promise<void> {
  const quota = await administer(flags, env, async ({ namespaces }) => {
    const { quota: before = { memories: null, bytes: null } } = (await summaryOf(namespaces, name)) ?? {};
    const { memories = before.memories, bytes = before.bytes } = flags;
    if (flags.memories !== undefined || flags.bytes !== undefined) await namespaces.setQuota(name, { memories, bytes });
    return { memories, bytes };
  });
  await print(flags, { name, quota }, () =>
    tableFor(['NAMESPACE', 'MEMORIES AT MOST', 'BYTES AT MOST'], [[name, mostOf(quota.memories), mostOf(quota.bytes)]]),
  );
}

async function summaryOf(namespaces: Namespaces, name: string): Promise<NamespaceSummary | undefined> {
  return (await namespaces.list()).find((namespace) => namespace.name === name);
}
