import { AdministrationClient } from '@memoryd/client/administration';
import type { HookSettings, HooksResponse } from '@memoryd/contract';
import { atService } from '../place-errors.ts';
import { readKey } from './access.ts';
import { readConnectStatus } from './connection-status.ts';
import { formatStatus } from './status-text.ts';
import type { Machine } from './types.ts';

const RETRIES = 1;
const TIMEOUT_MS = 5000;

interface StatusRequest {
  machine: Machine;
  /** Only the connections to this service. */
  url?: string | undefined;
  json?: boolean | undefined;
}

/** Returns the state of all connections as lines for a person, or as one line of JSON. */
export async function getStatusLines({ machine, url, json }: StatusRequest): Promise<string[]> {
  const status = await readConnectStatus(machine, url);
  return json ? [JSON.stringify(status)] : formatStatus(status);
}

interface PauseRequest {
  /** True pauses, and false ends the pause. */
  paused: boolean;
  /** The absolute path of a folder in which hooks do nothing. Absent: everywhere. */
  project?: string | undefined;
  url: string;
  user: string;
  machine: Machine;
}

/**
 * Pauses the hooks of a user at the service, everywhere or in one folder and below it, or ends the pause. The setting is
 * stored in the database of the service.
 *
 * @returns lines for a person
 * @throws MemoryError UNAVAILABLE if the service does not respond, and its other errors
 */
export async function changePause({ paused, project, url, user, machine }: PauseRequest): Promise<string[]> {
  const apiKey = readKey(machine, url);
  const client = new AdministrationClient({
    url,
    retries: RETRIES,
    timeoutMs: TIMEOUT_MS,
    ...(apiKey !== undefined && { apiKey }),
  });
  const of = { user_id: user };
  return atService(url, async () => {
    if (project === undefined) {
      await client.setHooks({ paused }, of);
      if (!paused) return [`The hooks of ${user} at ${url} are active again.`];
      return [
        `The hooks of ${user} at ${url} are paused: they store and give nothing. memoryd connect --resume ends the pause.`,
      ];
    }
    const { ignored_folders: before }: HooksResponse = await client.hooks(of);
    const others = before.filter((folder) => folder !== project);
    const { ignored_folders: now }: HookSettings = await client.setHooks(
      { ignored_folders: paused ? [...others, project] : others },
      of,
    );
    if (paused) return [`The hooks of ${user} store and give nothing in ${project} and below it.`];
    const above = now.filter((folder) =>
      project.startsWith(`${folder.replace(/[\\/]$/, '')}${machine.platform === 'win32' ? '\\' : '/'}`),
    );
    return [
      `The hooks of ${user} no longer ignore ${project}.`,
      ...above.map(
        (folder) => `They still ignore ${folder}, which contains it; run memoryd connect --project --resume there.`,
      ),
    ];
  });
}
