import type { Scope } from '@memoryd/contract';
import { type Administration, openAdministration } from '@memoryd/engine';
import { afterAll } from 'vitest';

const open = new Map<string, Promise<Administration>>();

afterAll(async () => {
  const all = [...open.values()];
  open.clear();
  for (const administration of all) await (await administration).close();
});

/** Opens the administration of a database file, once per file. Creates a missing file. A server may have it open. */
export function getAdministration(dbPath: string): Promise<Administration> {
  const administration = open.get(dbPath) ?? openAdministration({ dbPath });
  open.set(dbPath, administration);
  return administration;
}

/** Creates an API key, as `memoryd keys add` does. */
export async function addKey(dbPath: string, namespace: string, scope: Scope): Promise<string> {
  const { keys } = await getAdministration(dbPath);
  return (await keys.add({ namespace, scope })).key;
}
