import { type ApiKey, DEFAULTS, SCOPES, type Scope } from '@memoryd/contract';

import { Option } from 'commander';
import type { Environment } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';
import { administer, administerNew, withDatabase } from './administration.ts';
import { type AddCommand, type AnswerFlags, destructive, needsCommand } from './command.ts';
import { note, print, tableFor } from './output.ts';

const SCOPE =
  'what its holder may do: metrics, which is to read metrics and nothing else; read; write, and read; or operate, which ' +
  'is everything, copies and totals of all namespaces included, and so for whoever owns the database';

type AddFlags = AnswerFlags & {
  namespace: string;
  scope: Scope;
  user?: string;
  agent?: string;
  name?: string;
  expiresAt?: string;
};
type OpenFlags = AnswerFlags & { yes?: true };
type ListFlags = AnswerFlags & { namespace?: string };

/** `memoryd keys`: who may call. */
export const keysCommand: AddCommand = (program, env) => {
  const group = program
    .command('keys')
    .description('Make, list and revoke API keys; a server knows a new one at once, and all else within a second.');
  needsCommand(group);
  const add = group
    .command('add')
    .description('Make a key and print it, once. From the first key on, callers on this machine need a key too.')
    .option('--namespace <name>', 'the namespace that its holder sees', DEFAULTS.namespace)
    .addOption(new Option('--scope <scope>', SCOPE).choices(SCOPES).default('write'))
    .option('--user <id>', 'the only user whose memories its holder sees and stores')
    .option('--agent <id>', 'the only agent whose memories its holder sees and stores')
    .option('--name <text>', 'what or whom the key is for')
    .option('--expires-at <time>', 'when the key expires, such as 2027-01-31; never if absent');
  withDatabase(add).action((flags: AddFlags) => addKey(flags, env));
  const list = group
    .command('list')
    .description('List keys, revoked ones too, without their secrets.')
    .option('--namespace <name>', 'only those of one namespace');
  withDatabase(list).action((flags: ListFlags) => listKeys(flags, env));
  const revoke = destructive(group.command('revoke'))
    .description('Make a key good for nothing.')
    .argument('<id>', 'the id of the key');
  withDatabase(revoke).action((id: string, flags: AnswerFlags) => revokeKey(id, flags, env));
  const open = destructive(group.command('open'))
    .description('Let callers on this machine call without a key again, until the next key is made.')
    .option('--yes', 'do it; without it nothing is done');
  withDatabase(open).action((flags: OpenFlags) => openLoopback(flags, env));
};

const FIRST_KEY =
  'From now on, requests from this machine need a key too, as `Authorization: Bearer KEY`. ' +
  '`memoryd keys open --yes` lets them call without one again.';

// The key alone goes to standard output, so that it can be piped to where it is kept.
async function addKey(flags: AddFlags, env: Environment): Promise<void> {
  const { namespace, scope, user, agent, name, expiresAt } = flags;
  const request = {
    ...{ namespace, scope },
    ...(user !== undefined && { user_id: user }),
    ...(agent !== undefined && { agent_id: agent }),
    ...(name !== undefined && { name }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
  };
  const made = await administerNew(flags, env, async ({ keys }) => {
    if (!(await keys.areNeeded())) note(FIRST_KEY);
    return keys.add(request);
  });
  await print(flags, made, () => `${made.key}\n`);
  const until = made.expires_at === null ? '' : ` It expires at ${made.expires_at}.`;
  const bound = [
    ...(user === undefined ? [] : [`as user ${user}`]),
    ...(agent === undefined ? [] : [`as agent ${agent}`]),
  ];
  const where = [`in the namespace ${namespace}`, ...bound].join(' ');
  note(`This key (id ${made.id}) may ${scope} ${where}. Keep it: it is not shown again.${until}`);
}

async function openLoopback(flags: OpenFlags, env: Environment): Promise<void> {
  if (!flags.yes) {
    throw new UsageError(
      'this lets every program on this machine read and change everything without a key; --yes does it',
    );
  }
  await administer(flags, env, ({ keys }) => keys.openLoopback());
  await print(flags, { status: 'open' }, () => 'Callers on this machine need no key now. Keys go on working.\n');
}

async function listKeys(flags: ListFlags, env: Environment): Promise<void> {
  const all = await administer(flags, env, ({ keys }) => keys.list());
  const listed = all.filter(({ namespace }) => flags.namespace === undefined || namespace === flags.namespace);
  await print(flags, listed, () =>
    tableFor(
      ['ID', 'NAME', 'NAMESPACE', 'USER', 'AGENT', 'SCOPE', 'MADE', 'EXPIRES', 'LAST USED', 'REVOKED'],
      listed.map(getRow),
    ),
  );
}

function getRow({
  id,
  name,
  namespace,
  user_id: user = '-',
  agent_id: agent = '-',
  scope,
  ...times
}: ApiKey): string[] {
  const { created_at, expires_at, last_used_at, revoked_at } = times;
  const until = [expires_at ?? '-', last_used_at ?? '-', revoked_at ?? '-'];
  return [id, name || '-', namespace, user, agent, scope, created_at, ...until];
}

async function revokeKey(id: string, flags: AnswerFlags, env: Environment): Promise<void> {
  await administer(flags, env, ({ keys }) => keys.revoke(id));
  await print(flags, { id, status: 'revoked' }, () => `The key ${id} is good for nothing now.\n`);
}
