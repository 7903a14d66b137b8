import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { AdministrationClient } from '@memoryd/client/administration';
import { DEFAULTS } from '@memoryd/contract/limits';
import { note } from '../commands/output.ts';
import { getMessage } from '../error-text.ts';
import { atService } from '../place-errors.ts';
import { getVariable } from '../settings/names.ts';
import type { Environment } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';
import { isOwnMachine } from './loopback.ts';
import { getOwnFiles } from './machine.ts';
import { KEY_VARIABLE } from './programs/hook-entries.ts';
import { readRecord, writeRecord } from './record.ts';
import type { Account, Machine } from './types.ts';

/** Maximum retries of a request, low because the person is waiting. */
const RETRIES = 1;
const TIMEOUT_MS = 10_000;

/**
 * Makes sure that programs of the user can reach a service. Makes no key for a service that accepts requests without one.
 * Otherwise the file `key` gets a key that is bound to the user: the key of `MEMORYD_API_KEY` or `SERVICE_API_KEY` if it
 * serves the user only, or a new one if that key may make keys. An existing file with a key that works stays as it is.
 *
 * @returns whether requests need a key
 * @throws UsageError, and changes nothing, if a key is needed and there is none, or the present key does not work
 * @throws MemoryError UNAVAILABLE if a service on another machine does not respond
 */
export async function prepareAccess(
  request: Account & { machine: Machine; env: Environment },
): Promise<{ hasKey: boolean }> {
  const { machine, env, ...account } = request;
  const path = getOwnFiles(machine).key;
  const isPresent = existsSync(path);
  const { key: recorded } = readRecord(machine);
  if (isPresent && (recorded === undefined || recorded.url === account.url)) return useKeyFile(account, path);
  const refusal = await findRefusal(account, undefined);
  // A service that does not run yet is asked when the hooks call it.
  if (refusal === undefined || (refusal.code === 'UNAVAILABLE' && isOwnMachine(account.url))) return { hasKey: false };
  if (refusal.code !== 'UNAUTHORIZED') throw refusal.error;
  if (isPresent) {
    throw new UsageError(
      `${path} has the key of ${recorded?.url}, which must not be sent to ${account.url}; run memoryd connect --remove first`,
    );
  }
  const given = env[KEY_VARIABLE] || env[getVariable('apiKey')];
  if (!given) throw new UsageError(`${account.url} needs an API key; ${howToMakeAKey(account)}`);
  const made = await makeKey(account, given);
  if (made === undefined) await assertUsable(account, given);
  writeKey(path, made?.key ?? given);
  await writeRecord(machine, { ...readRecord(machine), key: { ...account, ...(made && { id: made.id }) } });
  const place = machine.platform === 'win32' ? path : `${path}, which only you can read`;
  note(
    made === undefined
      ? `The given key is saved in ${place}.`
      : `A key (id ${made.id}) for ${account.user} in the namespace ${made.namespace} is saved in ${place}.`,
  );
  return { hasKey: true };
}

/**
 * Deletes the file `key` if `prepareAccess` wrote it, and revokes a key that it made if `SERVICE_API_KEY` may do so.
 *
 * @returns lines for a person
 */
export async function removeAccess(machine: Machine): Promise<string[]> {
  const { key: recorded, ...record } = readRecord(machine);
  if (recorded === undefined) return [];
  const { url, id } = recorded;
  const path = getOwnFiles(machine).key;
  const revoked = id === undefined ? [] : [await revokeKey(url, id, machine.env)];
  rmSync(path, { force: true });
  await writeRecord(machine, record);
  return [`The key in ${path} is deleted.`, ...revoked];
}

/**
 * Returns the key of a service: of the file `key`, or else of `MEMORYD_API_KEY`. Returns undefined without either, and for
 * any other service than the one of the recorded key.
 */
export function readKey(machine: Machine, url: string): string | undefined {
  const path = getOwnFiles(machine).key;
  const { key: recorded } = readRecord(machine);
  if (recorded !== undefined && recorded.url !== url) return undefined;
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : machine.env[KEY_VARIABLE] || undefined;
}

/** Checks the present key of a service. */
async function useKeyFile(account: Account, path: string): Promise<{ hasKey: true }> {
  await assertUsable(account, readFileSync(path, 'utf8').trim(), path);
  return { hasKey: true };
}

/** @throws UsageError if the service refuses to store or read memories of the user with a key */
async function assertUsable(account: Account, key: string, path = 'the given key'): Promise<void> {
  const refusal = await findRefusal(account, key);
  if (refusal === undefined) return;
  if (refusal.code === 'UNAVAILABLE' && isOwnMachine(account.url)) return;
  if (refusal.code !== 'UNAUTHORIZED' && refusal.code !== 'FORBIDDEN') throw refusal.error;
  throw new UsageError(
    `${path} does not let ${account.user} store memories at ${account.url} (${getMessage(refusal.error)}); ` +
      `${howToMakeAKey(account)}`,
  );
}

/** A reason why a service refuses the requests of hooks. */
interface Refusal {
  code: string;
  error: unknown;
}

/** Returns the reason why a service does not store and read memories of the user, or undefined if it does. */
async function findRefusal({ url, user }: Account, key: string | undefined): Promise<Refusal | undefined> {
  const client = createClient(url, key);
  try {
    await atService(url, async () => {
      await client.hooks({ user_id: user });
      await assertMayWrite(client, user);
    });
    return undefined;
  } catch (error) {
    return { code: String((error as { code?: unknown }).code), error };
  }
}

/** Sends a change without a setting, which the service refuses as invalid after it has checked the key. */
async function assertMayWrite(client: AdministrationClient, user: string): Promise<void> {
  await client.setHooks({}, { user_id: user }).catch((error) => {
    if (error.code !== 'INVALID_REQUEST') throw error;
  });
}

/** Makes a key that is bound to the user. Returns undefined if the given key may not make keys. */
async function makeKey({ url, user }: Account, given: string) {
  const key = {
    namespace: DEFAULTS.namespace,
    scope: 'write',
    user_id: user,
    name: `memoryd connect on ${hostname()}`,
  };
  try {
    return await atService(url, () => createClient(url, given).addKey({ ...key, scope: 'write' }));
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === 'FORBIDDEN' || code === 'UNAUTHORIZED') return undefined;
    throw error;
  }
}

async function revokeKey(url: string, id: string, env: Environment): Promise<string> {
  const given = env[getVariable('apiKey')] || env[KEY_VARIABLE];
  try {
    await createClient(url, given).revokeKey(id);
    return `The key ${id} of ${url} is revoked.`;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'NOT_FOUND') return `The key ${id} of ${url} was deleted before.`;
    return `The key ${id} of ${url} still works (${getMessage(error)}); its operator can run memoryd keys revoke ${id}.`;
  }
}

function createClient(url: string, apiKey: string | undefined): AdministrationClient {
  return new AdministrationClient({ url, retries: RETRIES, timeoutMs: TIMEOUT_MS, ...(apiKey && { apiKey }) });
}

/** Writes a key to a file that only the user can read. On Windows, the folder of the user protects it. */
function writeKey(path: string, key: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${key}\n`, { mode: 0o600, flag: 'wx' });
}

/** Returns the steps to a key. The first key of a service ends its use without a key, so it is never made unasked. */
function howToMakeAKey({ url, user }: Account): string {
  return (
    `ask the operator of ${url} for the key that memoryd keys add --scope write --user ${user} prints, set ${KEY_VARIABLE} to it, ` +
    'and run the command again; after the first key, the service serves nobody without a key'
  );
}
