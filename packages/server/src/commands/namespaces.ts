import type { NamespaceSummary } from '@memoryd/contract';
import { counted } from '@memoryd/contract';
import type { Namespaces } from '@memoryd/engine';
import type { Environment } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';
import { administer, withDatabase } from './administration.ts';
import { type AddCommand, type AnswerFlags, destructive, needsCommand } from './command.ts';
import { print, tableFor } from './output.ts';
import { changedQuota, NO_QUOTA, type QuotaFlags, showLimit, withQuotaOptions } from './quota.ts';

type DeleteFlags = AnswerFlags & { yes?: true };

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
    .argument('<name>', 'the namespace');
  withDatabase(withQuotaOptions(quota)).action((name: string, flags: QuotaFlags) => changeQuota(name, flags, env));
};

async function listNamespaces(flags: AnswerFlags, env: Environment): Promise<void> {
  const listed = await administer(flags, env, ({ namespaces }) => namespaces.list());
  await print(flags, listed, () => describe(listed));
}

function describe(namespaces: readonly NamespaceSummary[]): Promise<string> {
  const titles = ['NAMESPACE', 'WORKING', 'EPISODIC', 'SEMANTIC', 'MEMORIES', 'AT MOST', 'BYTES', 'AT MOST', 'KEYS'];
  const rows = namespaces.map((of) => [
    ...[of.name, of.working_count, of.episodic_count, of.semantic_count],
    ...[of.memories, showLimit(of.quota.memories), of.bytes, showLimit(of.quota.bytes), of.keys],
  ]);
  return tableFor(titles, rows);
}

async function deleteNamespace(name: string, flags: DeleteFlags, env: Environment): Promise<void> {
  const deleted = await administer(flags, env, async ({ namespaces }) => {
    if (flags.yes) return namespaces.delete(name);
    const known = await getSummary(namespaces, name);
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
    const { quota: before = NO_QUOTA } = (await getSummary(namespaces, name)) ?? {};
    return changedQuota(flags, before, (own) => namespaces.setQuota(name, own));
  });
  await print(flags, { name, quota }, () =>
    tableFor(
      ['NAMESPACE', 'MEMORIES AT MOST', 'BYTES AT MOST'],
      [[name, showLimit(quota.memories), showLimit(quota.bytes)]],
    ),
  );
}

async function getSummary(namespaces: Namespaces, name: string): Promise<NamespaceSummary | undefined> {
  return (await namespaces.list()).find((namespace) => namespace.name === name);
}
