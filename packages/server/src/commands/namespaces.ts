import type { NamespaceSummary } from '@memoryd/contract';
import { formatCount } from '@memoryd/contract';
import type { Environment } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';
import { administer, withAdministration } from './administration.ts';
import { type AddCommand, type CommonFlags, destructive, needsCommand } from './command.ts';
import { formatTable, print } from './output.ts';
import type { PlaceAdministration } from './place-administration.ts';
import { changeLimits, NO_QUOTA, type QuotaFlags, showLimit, withQuotaOptions } from './quota.ts';

type DeleteFlags = CommonFlags & { yes?: true };

export const namespacesCommand: AddCommand = (program, env) => {
  const group = program.command('namespaces').description('List and delete namespaces, and set their quotas.');
  needsCommand(group);
  withAdministration(group.command('list').description('List namespaces with their counts.')).action(
    (flags: CommonFlags) => listNamespaces(flags, env),
  );
  const remove = destructive(group.command('delete'))
    .description('Delete a namespace for good: memories, history, consolidation runs, quota and API keys.')
    .argument('<name>', 'name of the namespace')
    .option('--yes', 'Confirm. Without it, nothing is deleted.');
  withAdministration(remove).action((name: string, flags: DeleteFlags) => deleteNamespace(name, flags, env));
  const quota = group
    .command('quota')
    .description('Set the quota of a namespace. Existing memories stay. Without limits, print the quota.')
    .argument('<name>', 'name of the namespace');
  withAdministration(withQuotaOptions(quota)).action((name: string, flags: QuotaFlags) =>
    changeQuota(name, flags, env),
  );
};

async function listNamespaces(flags: CommonFlags, env: Environment): Promise<void> {
  const listed = await administer(flags, env, ({ namespaces }) => namespaces.list());
  await print(flags, listed, () => format(listed));
}

function format(namespaces: readonly NamespaceSummary[]): Promise<string> {
  const titles = [
    'NAMESPACE',
    'WORKING',
    'EPISODIC',
    'SEMANTIC',
    'MEMORIES',
    'MAX MEMORIES',
    'BYTES',
    'MAX BYTES',
    'KEYS',
  ];
  const rows = namespaces.map(({ name, quota, memories, bytes, keys, ...counts }) => [
    ...[name, counts.working_count, counts.episodic_count, counts.semantic_count],
    ...[memories, showLimit(quota.memories), bytes, showLimit(quota.bytes), keys],
  ]);
  return formatTable(titles, rows);
}

async function deleteNamespace(name: string, flags: DeleteFlags, env: Environment): Promise<void> {
  const { place, deleted } = await administer(flags, env, async ({ place, namespaces }) => {
    if (flags.yes) return { place, deleted: await namespaces.delete(name) };
    const summary = await getSummary(namespaces, name);
    const contents = summary
      ? `${formatCount(summary.memories, 'memory', 'memories')} and ${formatCount(summary.keys, 'API key')}`
      : 'nothing';
    throw new UsageError(
      `the command permanently deletes the namespace ${name} of ${place}, which has ${contents}; add --yes to confirm`,
    );
  });
  const result = { name, status: 'deleted', ...deleted };
  const later = deleted.purge ? ' The bytes are overwritten when no running read needs them.' : '';
  await print(
    flags,
    result,
    () =>
      `The namespace ${name} of ${place} is deleted, with ${formatCount(deleted.deleted_count, 'memory', 'memories')}.${later}\n`,
  );
}

async function changeQuota(name: string, flags: QuotaFlags, env: Environment): Promise<void> {
  const quota = await administer(flags, env, ({ place, namespaces }) =>
    changeLimits(flags, {
      owner: `the namespace ${name} of ${place}`,
      get: async () => (await getSummary(namespaces, name))?.quota ?? NO_QUOTA,
      set: (own) => namespaces.setQuota(name, own),
    }),
  );
  await print(flags, { name, quota }, () =>
    formatTable(
      ['NAMESPACE', 'MAX MEMORIES', 'MAX BYTES'],
      [[name, showLimit(quota.memories), showLimit(quota.bytes)]],
    ),
  );
}

async function getSummary(
  namespaces: PlaceAdministration['namespaces'],
  name: string,
): Promise<NamespaceSummary | undefined> {
  return (await namespaces.list()).find((namespace) => namespace.name === name);
}
