import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { UsageError } from '../../usage-error.ts';
import { VERSION } from '../../version.ts';
import { removeEmptyFolders } from '../edit/files.ts';
import type { Machine } from '../types.ts';
import { launchd } from './launchd.ts';
import { findRunner, type ServiceCommand } from './service-command.ts';
import type { ServiceManager } from './service-manager.ts';
import { systemd } from './systemd.ts';

const MANAGERS: readonly ServiceManager[] = [systemd, launchd];

/** Time in which a started service must answer. A first start creates the database and loads the model. */
const START_TIMEOUT_MS = 60_000;
const POLL_INTERVAL_MS = 100;
const HEALTH_TIMEOUT_MS = 1000;

/** A service that `memoryd connect` installed, as `connect.json` records it. */
export interface InstalledService {
  manager: ServiceManager['name'];
  /** Absolute path of the file that describes the service. */
  file: string;
  /** The content of the file. A file with another content is not removed. */
  text: string;
  /** The first folder that was created for the file. */
  madeFolder?: string;
  /** Absolute path of the database. */
  dbPath: string;
}

/** The state of an installed service. */
export interface ServiceState {
  manager: ServiceManager['name'];
  file: string;
  /** Whether the file is there: as it was written, with another content, or not. */
  fileState: 'unchanged' | 'edited' | 'missing';
  isRunning: boolean;
}

/** Returns the service manager of this user, or undefined if there is none that memoryd knows. */
async function findServiceManager(machine: Machine): Promise<ServiceManager | undefined> {
  for (const manager of MANAGERS) if (await manager.isAvailable(machine)) return manager;
  return undefined;
}

/**
 * Returns the reason why no service can be installed, with the way to start one, or undefined if a service can be
 * installed.
 */
export async function findObstacle(machine: Machine, { script }: ServiceCommand): Promise<string | undefined> {
  if ((await findServiceManager(machine)) === undefined) {
    return (
      'memoryd installs a service under systemd of Linux and launchd of macOS only, and neither runs for this user; ' +
      'start the service yourself with memoryd serve, and keep it running'
    );
  }
  const cache = findRunner(script);
  return (
    cache &&
    `this memoryd runs from the cache of ${cache.runner}, which may be emptied; run ${cache.install}, and memoryd ` +
      'connect again'
  );
}

/**
 * Installs and starts a service of the user's own, and waits until it is healthy. Starts it again after an update of
 * memoryd. Does nothing for a service of this version that is installed with the same file and runs. No shell and no other rights are used.
 *
 * @param earlier the record of an earlier installation, whose file may be replaced
 * @throws UsageError, and leaves no file, if no service can be installed, another file is in its place, or the service
 *   manager refuses it
 */
export async function installService(
  machine: Machine,
  command: ServiceCommand,
  earlier?: InstalledService,
): Promise<InstalledService> {
  const obstacle = await findObstacle(machine, command);
  const manager = await findServiceManager(machine);
  if (obstacle !== undefined || manager === undefined) throw new UsageError(obstacle ?? 'there is no service manager');
  const file = manager.getFile(machine);
  const text = manager.formatFile(command, machine);
  const present = readText(file);
  const url = `http://127.0.0.1:${command.port}`;
  if (present === text && (await manager.isRunning(machine)) && (await getVersion(url)) === VERSION) {
    return earlier ?? { manager: manager.name, file, text, dbPath: command.dbPath };
  }
  if (present !== undefined && present !== text && present !== earlier?.text) {
    throw new UsageError(`${file} exists, and memoryd connect did not write it so; remove or rename the file first`);
  }
  const madeFolder = earlier?.madeFolder ?? mkdirSync(dirname(file), { recursive: true });
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  const installed = { manager: manager.name, file, text, dbPath: command.dbPath, ...(madeFolder && { madeFolder }) };
  const { code, output } = await manager.start(machine, file);
  if (code !== 0) {
    await removeInstalledService(machine, installed);
    throw new UsageError(`${manager.name} did not start the service: ${output}; start it yourself with memoryd serve`);
  }
  if (await isHealthySoon(url)) return installed;
  await removeInstalledService(machine, installed);
  throw new UsageError(
    `the service did not become healthy, so it is removed; its log says why: ${manager.logCommand(machine)}`,
  );
}

/** Returns lines about an installed service, for a person who has just installed it. */
export async function describeInstallation(
  machine: Machine,
  { manager, file, dbPath }: InstalledService,
): Promise<string[]> {
  const { getAdvice, logCommand } = getManager(manager);
  const advice = await getAdvice(machine);
  return [
    `The service runs now and starts when you log in (${file}).`,
    `Memories: ${dbPath}`,
    `Log: ${logCommand(machine)}`,
    ...(advice === undefined ? [] : [advice]),
  ];
}

/**
 * Stops and removes a service that `installService` installed, with the folders that were created for its file. The
 * database stays. Leaves a file alone that was edited since, and its service.
 *
 * @returns lines for a person: the result, and the path of the database
 * @throws UsageError, and changes nothing, if the service manager does not stop the service
 */
export async function removeInstalledService(machine: Machine, installed: InstalledService): Promise<string[]> {
  const { manager: name, file, text, madeFolder, dbPath } = installed;
  const memories = `The memories stay in ${dbPath}.`;
  const present = readText(file);
  if (present === undefined) return [`The service is removed already (${file}).`, memories];
  if (present !== text) {
    return [
      `${file} was edited after memoryd connect wrote it; stop the service and remove the file yourself.`,
      memories,
    ];
  }
  const manager = getManager(name);
  const { code, output } = await manager.stop(machine, file);
  if (code !== 0) throw new UsageError(`${name} did not stop the service of ${file}: ${output}; run the command again`);
  rmSync(file);
  if (madeFolder !== undefined) removeEmptyFolders(dirname(file), madeFolder);
  await manager.forget(machine);
  return [`The service is stopped and removed (${file}).`, memories];
}

/** Returns the state of an installed service. */
export async function getServiceState(
  machine: Machine,
  { manager, file, text }: InstalledService,
): Promise<ServiceState> {
  const present = readText(file);
  const fileState = present === undefined ? 'missing' : present === text ? 'unchanged' : 'edited';
  return { manager, file, fileState, isRunning: await getManager(manager).isRunning(machine) };
}

function getManager(name: ServiceManager['name']): ServiceManager {
  return name === 'systemd' ? systemd : launchd;
}

/** Returns the content of a file, or undefined if there is no file. */
function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Returns true as soon as a service is healthy, and false if it is not within `START_TIMEOUT_MS`. */
async function isHealthySoon(url: string): Promise<boolean> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < deadline) {
    if (await isHealthy(url)) return true;
    await delay(POLL_INTERVAL_MS);
  }
  return false;
}

/** Returns whether a healthy memoryd service answers at an address. */
export async function isHealthy(url: string): Promise<boolean> {
  return (await getVersion(url)) !== undefined;
}

/** Returns the version of the healthy memoryd service at an address, or undefined if none answers. */
async function getVersion(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS) });
    const { status, version } = (await response.json()) as { status?: unknown; version?: unknown };
    return status === 'healthy' && typeof version === 'string' ? version : undefined;
  } catch {
    return undefined;
  }
}
