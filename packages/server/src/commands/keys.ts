import { DEFAULTS, SCOPES, type Scope } from '@memoryd/contract';
import type { ApiKey } from '@memoryd/engine';
import { Option } from 'commander';
import type { Environment } from '../settings/read.ts';
import { administer, administerNew, withDatabase } from './administration.ts';
import { type AddCommand, type AnswerFlags, needsCommand } from './command.ts';
import { note, print, tableFor } from './output.ts';

const SCOPE =
  'what its holder may do: read; write, and read; or operate, which is everything, copies and totals of all namespaces ' +
  'included, and so for whoever owns the database';

type AddFlags = AnswerFlags & { namespace: string; scope: Scope };
type ListFlags = AnswerFlags & { namespace?: string };

/** `memoryd keys`: who may call. */
export const keysCommand: AddCommand = (program, env) => {
  const group = program
    .command('keys')
    .description('Make, list and revoke API keys; a server knows a new one at once, and all else within a second.');
  needsCommand(group);
  const add = group
    .command('add')
    .description('Make a key and print it, once. From then on every caller needs a key.')
    .option('--namespace <name>', 'the namespace that its holder sees', DEFAULTS.namespace)
    .addOption(new Option('--scope <scope>', SCOPE).choices(SCOPES).default('write'));
  withDatabase(add).action((flags: AddFlags) => addKey(flags, env));
  const list = group
    .command('list')
    .description('List keys, revoked ones too, without their secrets.')
    .option('--namespace <name>', 'only those of one namespace');
  withDatabase(list).action((flags: ListFlags) => listKeys(flags, env));
  const revoke = group
    .command('revoke')
    .description('Make a key good for nothing.')
    .argument('<id>', 'the id of the key');
  withDatabase(revoke).action((id: string, flags: AnswerFlags) => revokeKey(id, flags, env));
};

// The key alone goes to standard output, so that it can be piped to where it is kept.
async function addKey(flags: AddFlags, env: Environment): Promise<void> {
  const { namespace, scope } = flags;
  const made = await administerNew(flags, env, ({ keys }) => keys.add({ namespace, scope }));
  await print(flags, made, () => `${made.key}\n`);
  note(`This key (id ${made.id}) may ${scope} in the namespace ${namespace}. Keep it: it is not shown again.`);
}

async function listKeys(flags: ListFlags, env: Environment): Promise<void> {
  const all = await administer(flags, env, ({ keys }) => keys.list());
  const listed = all.filter(({ namespace }) => flags.namespace === undefined || namespace === flags.namespace);
  await print(flags, listed, () => tableFor(['ID', 'NAMESPACE', 'SCOPE', 'MADE', 'REVOKED'], listed.map(rowOf)));
}

function rowOf({ id, namespace, scope, created_at, revoked_at }: ApiKey): string[] {
  return [id, namespace, scope, created_at, revoked_at ?? '-'];
}

async function revokeKey(id: string, flags: AnswerFlags, env: Environment): Promise<void> {
  await administer(flags, env, ({ keys }) => keys.revoke(id));
  await print(flags, { id, status: 'revoked' }, () => `The key ${id} is good for nothing now.\n`);
}
