import type { UserSummary } from '@memoryd/contract';
import type { Environment } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';
import { administer } from './administration.ts';
import { type AddCommand, type CommonFlags, needsCommand } from './command.ts';
import { NAMESPACE_OPTION } from './database.ts';
import { toShortTime } from './local-time.ts';
import { NAMESPACE_AT_URL, withMemories, withMemoryOptions } from './memories.ts';
import { asTable, formatTable, print, printEach } from './output.ts';
import { changeLimits, type QuotaFlags, showLimit, withQuotaOptions } from './quota.ts';

/** `memoryd users`: the end users of a namespace. */
export const usersCommand: AddCommand = (program, env) => {
  const group = program.command('users').description('List the users of a namespace, and set their quotas.');
  needsCommand(group);
  const list = group.command('list').description('List users with their counts. With --json, prints one a line.');
  withMemoryOptions(list).action((flags: CommonFlags) => listUsers(flags, env));
  const quota = group
    .command('quota')
    .description('Set the quota of a user. Existing memories stay. Without limits, print the quota.')
    .argument('<id>', 'id of the user');
  withMemoryOptions(withQuotaOptions(quota)).action((id: string, flags: UserQuotaFlags) => changeQuota(id, flags, env));
};

type UserQuotaFlags = QuotaFlags & { namespace?: string };

const getUsersFormat = (flags: CommonFlags) => ({
  format: asTable(
    ['USER', 'WORKING', 'EPISODIC', 'SEMANTIC', 'MEMORIES', 'MAX MEMORIES', 'BYTES', 'MAX BYTES', 'LAST STORED'],
    (user: UserSummary) => [
      ...[user.user_id, user.working_count, user.episodic_count, user.semantic_count],
      ...[user.memories, showLimit(user.quota.memories), user.bytes, showLimit(user.quota.bytes)],
      toShortTime(user.last_stored_at, flags),
    ],
    flags,
  ),
  none: 'there are no users',
});

async function listUsers(flags: CommonFlags, env: Environment): Promise<void> {
  const { eachUser } = await import('@memoryd/client');
  await withMemories(flags, env, {}, ({ api }) => printEach(flags, eachUser(api), getUsersFormat(flags)));
}

async function changeQuota(id: string, flags: UserQuotaFlags, env: Environment): Promise<void> {
  const { namespace = NAMESPACE_OPTION.defaultValue } = flags;
  const quota = await administer(flags, env, ({ place, ownFlags, namespaces }) => {
    if (ownFlags === undefined && flags.namespace !== undefined) throw new UsageError(NAMESPACE_AT_URL);
    return changeLimits(flags, {
      owner: `the user ${id} of ${place}`,
      get: () => namespaces.userQuota(namespace, id),
      set: (own) => namespaces.setUserQuota(namespace, id, own),
    });
  });
  await print(flags, { user_id: id, quota }, () =>
    formatTable(['USER', 'MAX MEMORIES', 'MAX BYTES'], [[id, showLimit(quota.memories), showLimit(quota.bytes)]]),
  );
}
