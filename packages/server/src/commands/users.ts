import type { UserSummary } from '@memoryd/contract';
import type { Environment } from '../settings/read.ts';
import { administer, withDatabase } from './administration.ts';
import { type AddCommand, type AnswerFlags, needsCommand, withOptions } from './command.ts';
import { NAMESPACE_OPTION } from './database.ts';
import { withMemories, withMemoryOptions } from './memories.ts';
import { print, printEach, tableFor } from './output.ts';
import { changedQuota, type QuotaFlags, showLimit, withQuotaOptions } from './quota.ts';

/** `memoryd users`: the end users of a namespace, and how much each may hold. */
export const usersCommand: AddCommand = (program, env) => {
  const group = program.command('users').description('List the users of a namespace, and say what each may hold.');
  needsCommand(group);
  const list = group.command('list').description('List users and what they hold. As JSON, one a line.');
  withMemoryOptions(list).action((flags: AnswerFlags) => listUsers(flags, env));
  const quota = group
    .command('quota')
    .description('Say what a user may hold; what the user holds already stays. Without a number, tell it.')
    .argument('<id>', 'the user');
  withDatabase(withOptions(withQuotaOptions(quota), [NAMESPACE_OPTION])).action((id: string, flags: UserQuotaFlags) =>
    changeQuota(id, flags, env),
  );
};

type UserQuotaFlags = QuotaFlags & { namespace: string };

const USERS = {
  titles: ['USER', 'WORKING', 'EPISODIC', 'SEMANTIC', 'MEMORIES', 'AT MOST', 'BYTES', 'AT MOST', 'LAST STORED'],
  row: (user: UserSummary) => [
    ...[user.user_id, user.working_count, user.episodic_count, user.semantic_count],
    ...[user.memories, showLimit(user.quota.memories), user.bytes, showLimit(user.quota.bytes), user.last_stored_at],
  ],
  none: 'there are no users',
};

async function listUsers(flags: AnswerFlags, env: Environment): Promise<void> {
  const { eachUser } = await import('@memoryd/client');
  await withMemories(flags, env, {}, ({ api }) => printEach(flags, eachUser(api), USERS));
}

async function changeQuota(id: string, flags: UserQuotaFlags, env: Environment): Promise<void> {
  const { namespace } = flags;
  const quota = await administer(flags, env, async ({ namespaces }) =>
    changedQuota(flags, await namespaces.userQuota(namespace, id), (own) =>
      namespaces.setUserQuota(namespace, id, own),
    ),
  );
  await print(flags, { user_id: id, quota }, () =>
    tableFor(['USER', 'MEMORIES AT MOST', 'BYTES AT MOST'], [[id, showLimit(quota.memories), showLimit(quota.bytes)]]),
  );
}
