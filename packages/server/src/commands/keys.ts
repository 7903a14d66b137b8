import { type ApiKey, DEFAULTS, SCOPES, type Scope } from '@memoryd/contract';
import { Option } from 'commander';
import type { Environment } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';
import { administer, withAdministration } from './administration.ts';
import { type AddCommand, type CommonFlags, destructive, needsCommand, withExamples } from './command.ts';
import { toInstant, toShortTime } from './local-time.ts';
import { formatTable, note, print } from './output.ts';
import type { PlaceAdministration } from './place-administration.ts';

const SCOPE_HELP =
  'Permissions of the key: metrics (read metrics only), read, write (and read), or operate (everything, with backups and ' +
  'metrics of all namespaces; for the owner of the database).';

type AddFlags = CommonFlags & {
  namespace: string;
  scope: Scope;
  user?: string;
  agent?: string;
  name?: string;
  expiresAt?: string;
};
type OpenFlags = CommonFlags & { yes?: true };
type ListFlags = CommonFlags & { namespace?: string };

export const keysCommand: AddCommand = (program, env) => {
  const group = program
    .command('keys')
    .summary('Create, list and revoke API keys.')
    .description(
      'Create, list and revoke API keys. A server accepts a new key at once, and any other change within a second.',
    );
  needsCommand(group);
  const add = group
    .command('add')
    .description('Create a key and print it once. After the first key, requests from this machine need a key too.')
    .option('--namespace <name>', 'Namespace of the key.', DEFAULTS.namespace)
    .addOption(new Option('--scope <scope>', SCOPE_HELP).choices(SCOPES).default('write'))
    .option('--user <id>', 'The only user whose memories the key gives access to.')
    .option('--agent <id>', 'The only agent whose memories the key gives access to.')
    .option('--name <text>', 'Name of the key, such as its holder.')
    .option(
      '--expires-at <time>',
      'Time at which the key expires, such as 2027-01-31. A date alone means the start of that local day. Default: never.',
    );
  withExamples(
    add,
    'memoryd keys add --name laptop',
    'memoryd keys add --scope read --user ada --expires-at 2027-01-31',
  );
  withAdministration(add).action((flags: AddFlags) => addKey(flags, env));
  const list = group
    .command('list')
    .description('List all keys, including revoked ones, without their secrets.')
    .option('--namespace <name>', 'List the keys of this namespace only.');
  withAdministration(list).action((flags: ListFlags) => listKeys(flags, env));
  const revoke = destructive(group.command('revoke'))
    .description('Revoke a key: requests with it are refused.')
    .argument('<id>', 'id of the key');
  withAdministration(revoke).action((id: string, flags: CommonFlags) => revokeKey(id, flags, env));
  const open = destructive(group.command('open'))
    .description('Accept requests from this machine without a key again, until the next key is created.')
    .option('--yes', 'Confirm. Without it, nothing changes.');
  withAdministration(open).action((flags: OpenFlags) => openLoopback(flags, env));
};

/** Returns the note before the first key of a database or a service is created. */
function getFirstKeyNote({ place, ownFlags }: PlaceAdministration): string {
  const open = 'memoryd keys open --yes';
  const command =
    ownFlags === undefined ? `\`${open}\` on this machine, with the service's own database` : `\`${open} ${ownFlags}\``;
  return (
    `From now on, requests from this machine need a key too, as \`Authorization: Bearer KEY\`, to use ${place}. ` +
    `To accept them without a key again, run ${command}.`
  );
}

// Standard output contains only the key (with `--json`, the key with its properties), so that the output can be piped.
// Notes go to standard error.
async function addKey(flags: AddFlags, env: Environment): Promise<void> {
  const { namespace, scope, user, agent, name, expiresAt } = flags;
  const request = {
    ...{ namespace, scope },
    ...(user !== undefined && { user_id: user }),
    ...(agent !== undefined && { agent_id: agent }),
    ...(name !== undefined && { name }),
    ...(expiresAt !== undefined && { expires_at: toInstant(expiresAt, 'first', flags) }),
  };
  // Checked here too, so that an invalid request creates no database.
  (await import('@memoryd/engine')).assertNewKey(request);
  const add = async (administration: PlaceAdministration) => {
    const { place, keys } = administration;
    if (!(await keys.areRequired())) note(getFirstKeyNote(administration));
    return { place, created: await keys.add(request) };
  };
  const { place, created } = await administer(flags, env, add, { canMake: true });
  await print(flags, created, () => `${created.key}\n`);
  const until = created.expires_at === null ? '' : ` It expires at ${toShortTime(created.expires_at, flags)}.`;
  const owner = [
    ...(user === undefined ? [] : [`as user ${user}`]),
    ...(agent === undefined ? [] : [`as agent ${agent}`]),
  ];
  const where = [`in the namespace ${namespace}`, ...owner].join(' ');
  note(
    `This key (id ${created.id}) of ${place} allows ${scope} ${where}. Save the key now, because it is not shown again.${until}`,
  );
}

async function openLoopback(flags: OpenFlags, env: Environment): Promise<void> {
  if (!flags.yes) {
    throw new UsageError(
      'the command lets every program on this machine read and change everything without a key; add --yes to confirm',
    );
  }
  const place = await administer(flags, env, async ({ place, keys }) => {
    await keys.openLoopback();
    return place;
  });
  await print(
    flags,
    { status: 'open' },
    () => `Requests from this machine to ${place} need no key now. Existing keys still work.\n`,
  );
}

async function listKeys(flags: ListFlags, env: Environment): Promise<void> {
  const all = await administer(flags, env, ({ keys }) => keys.list());
  const listed = all.filter(({ namespace }) => flags.namespace === undefined || namespace === flags.namespace);
  await print(flags, listed, () =>
    formatTable(
      ['ID', 'NAME', 'NAMESPACE', 'USER', 'AGENT', 'SCOPE', 'CREATED', 'EXPIRES', 'LAST USED', 'REVOKED'],
      listed.map((key) => getRow(key, flags)),
      flags,
    ),
  );
}

function getRow({ id, name, namespace, user_id, agent_id, scope, ...times }: ApiKey, flags: CommonFlags): string[] {
  const { created_at, expires_at, last_used_at, revoked_at } = times;
  const shown = [created_at, expires_at, last_used_at, revoked_at].map((time) =>
    time === null ? '-' : toShortTime(time, flags),
  );
  return [id, name || '-', namespace, user_id ?? '-', agent_id ?? '-', scope, ...shown];
}

async function revokeKey(id: string, flags: CommonFlags, env: Environment): Promise<void> {
  const place = await administer(flags, env, async ({ place, keys }) => {
    await keys.revoke(id);
    return place;
  });
  await print(flags, { id, status: 'revoked' }, () => `The key ${id} of ${place} is revoked.\n`);
}
