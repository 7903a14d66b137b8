import { join } from 'node:path';
import { getDatabaseName } from '@memoryd/engine/defaults';
import { checkPort } from '../../doctor/port.ts';
import { getProgramPath } from '../../program-path.ts';
import { loadSettings } from '../../settings/file.ts';
import { SETTING_NAMES } from '../../settings/names.ts';
import type { SettingKey } from '../../settings/schema.ts';
import { UsageError } from '../../usage-error.ts';
import { isOwnMachine } from '../loopback.ts';
import { readRecord, writeRecord } from '../record.ts';
import type { Machine } from '../types.ts';
import type { ServiceCommand } from './service-command.ts';
import {
  describeInstallation,
  findObstacle,
  getServiceState,
  installService,
  isHealthy,
  removeInstalledService,
  type ServiceState,
} from './user-service.ts';

const DEFAULT_HTTP_PORT = 80;

/** Settings that the command line of the service has, or that only commands use. */
const GIVEN_SETTINGS: readonly SettingKey[] = ['dbPath', 'host', 'port', 'url', 'apiKey', 'logQueries'];

interface ServiceRequest {
  /** Address at which programs reach the service. */
  url: string;
  machine: Machine;
  /** True installs a service without a question, and false installs none. */
  install?: boolean | undefined;
  /** Asks the person a question. Absent without a terminal. */
  confirm?: ((question: string) => Promise<boolean>) | undefined;
}

/**
 * Makes sure that a service runs at an address of this machine: installs one for the user if the request or the person
 * says so. Else returns the ways to start one.
 *
 * @returns lines for a person; none if a service runs
 * @throws UsageError, and changes nothing, if `install` is true and no service can be installed
 */
export async function ensureService({ url, machine, install, confirm }: ServiceRequest): Promise<string[]> {
  const running = await isHealthy(url);
  if (running && install !== true) return [];
  const earlier = readRecord(machine).service;
  if (running && earlier === undefined) return [`A service runs at ${url} already, so none is installed.`];
  const nothing = `No service runs at ${url}.`;
  const command = getCommand(url, machine);
  const obstacle =
    findAddressObstacle(url) ??
    findDatabaseObstacle(machine) ??
    (await findObstacle(machine, command)) ??
    (running ? undefined : await findPortObstacle(command));
  if (install === true && obstacle !== undefined) throw new UsageError(obstacle);
  if (install === false) return [`${nothing} Start one with memoryd serve, and keep it running.`];
  if (obstacle !== undefined) return [nothing, `No service was installed: ${obstacle}.`];
  if (install === undefined) {
    const question = `${nothing} Install one that starts when you log in?`;
    if (!(await confirm?.(question))) {
      return [`${nothing} memoryd connect --service installs one for you; memoryd serve starts one until you stop it.`];
    }
  }
  const service = await installService(machine, command, earlier);
  await writeRecord(machine, { ...readRecord(machine), service });
  return [...(await describeInstallation(machine, service)), ...describeVariables(machine)];
}

/**
 * Stops and removes the service that `ensureService` installed. Its database stays.
 *
 * @returns lines for a person; none if no service was installed
 * @throws UsageError, and changes nothing, if the service manager does not stop the service
 */
export async function removeService(machine: Machine): Promise<string[]> {
  const { service, ...record } = readRecord(machine);
  if (service === undefined) return [];
  const lines = await removeInstalledService(machine, service);
  await writeRecord(machine, record);
  return lines;
}

/** Returns the state of the service that `ensureService` installed; undefined if none was installed. */
export async function readServiceState(machine: Machine): Promise<ServiceState | undefined> {
  const { service } = readRecord(machine);
  return service && getServiceState(machine, service);
}

function getCommand(url: string, machine: Machine): ServiceCommand {
  const { port } = new URL(url);
  const { dbPath = '' } = loadSettings({}, machine.env, { search: false }).database;
  return { node: machine.node, script: getProgramPath(), port: Number(port || DEFAULT_HTTP_PORT), dbPath };
}

function findAddressObstacle(url: string): string | undefined {
  const { protocol, hostname, pathname } = new URL(url);
  const isOwn = isOwnMachine(url) && hostname !== '[::1]' && protocol === 'http:' && pathname === '/';
  if (isOwn) return undefined;
  return `a service of the user listens on http://127.0.0.1, and ${url} is another address; check --url, or start the service of ${url}`;
}

function findDatabaseObstacle({ env }: Machine): string | undefined {
  const { database } = loadSettings({}, env, { search: false });
  if (database.databaseUrl === undefined) return undefined;
  return (
    `the settings name the database ${getDatabaseName(database)}, whose password must not stand in the file of a service; ` +
    'start the service yourself with memoryd serve'
  );
}

async function findPortObstacle({ port }: ServiceCommand): Promise<string | undefined> {
  const { state, found, advice } = await checkPort({ host: '127.0.0.1', port });
  return state === 'problem' ? `${found}; ${advice}, and give the same port to memoryd connect with --url` : undefined;
}

/** Returns advice about the settings in the variables of this shell, which a service manager does not have. */
function describeVariables({ env, home }: Machine): string[] {
  const names = SETTING_NAMES.filter(({ key, env: name }) => env[name] && !GIVEN_SETTINGS.includes(key)).map(
    ({ env: name }) => name,
  );
  if (names.length === 0) return [];
  return [
    `The service does not read ${names.join(', ')} of this shell; put such settings into ${join(home, 'memoryd.config.json')}.`,
  ];
}
