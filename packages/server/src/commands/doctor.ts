import { userInfo } from 'node:os';
import { styleText } from 'node:util';
import { Option } from 'commander';
import { checkDisk, existingFolder } from '../doctor/disk.ts';
import { checkFile } from '../doctor/file.ts';
import type { Finding } from '../doctor/finding.ts';
import { checkModels } from '../doctor/model.ts';
import { checkNode } from '../doctor/node.ts';
import { checkPort, findServiceUrl } from '../doctor/port.ts';
import { checkServer } from '../doctor/server.ts';
import { checkService } from '../doctor/service.ts';
import { checkSettings } from '../doctor/settings.ts';
import { checkSync } from '../doctor/sync.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { SERVICE_SETTINGS, settingOptions } from '../settings/options.ts';
import type { Environment, Settings } from '../settings/read.ts';
import { type AddCommand, type CommonFlags, JSON_OPTION, withExamples, withOptions } from './command.ts';
import { isRemote } from './database.ts';
import { serviceAt } from './memories.ts';
import { print } from './output.ts';

/** `memoryd doctor`: exit code 1 if a check finds a problem. */
export const doctorCommand: AddCommand = (program, env) => {
  const command = program
    .command('doctor')
    .summary('Check everything that a server needs.')
    .description(
      'Check Node, settings, disk, sync time, database, models and port as memoryd serve would use them, or the service at ' +
        '--url, report what the hooks of agent programs did, and print what to do. The exit code is 1 if there is a problem.',
    );
  withExamples(command, 'memoryd doctor', 'memoryd doctor --url http://127.0.0.1:8090');
  const options = [...settingOptions([...SERVICE_SETTINGS, 'url']), USER_OPTION, JSON_OPTION];
  withOptions(command, options).action((flags: DoctorFlags) => examine(flags, env));
};

const USER_OPTION = new Option(
  '--user <user>',
  'The user whose agent hooks are reported, if a service runs. Default: the name of the account.',
);

type DoctorFlags = CommonFlags & { user?: string };

async function examine(flags: DoctorFlags, env: Environment): Promise<void> {
  const { settings, findings: settingsFindings } = checkSettings(flags, env);
  const others = settings === undefined ? [] : await getFindings(flags, settings);
  const findings = [checkNode(), ...settingsFindings, ...others];
  const ok = findings.every(({ state }) => state !== 'problem');
  await print(flags, { ok, findings }, () => findings.map(format).join(''));
  if (!ok) process.exitCode = EXIT_CODES.failed.code;
}

async function getFindings(flags: DoctorFlags, settings: Settings): Promise<Finding[]> {
  const { user: userId = getAccountName() } = flags;
  const { apiKey, url } = settings;
  const { checkPrograms } = await import('../doctor/connections.ts');
  if (isRemote(flags, settings)) {
    const service = await checkService(await serviceAt(settings), url);
    const responds = service.every(({ state }) => state !== 'problem');
    return [...service, ...(await checkPrograms({ url, userId, apiKey }, responds))];
  }
  const { dbPath, databaseUrl } = settings.database;
  const database = databaseUrl === undefined ? await checkDatabaseFile(dbPath) : [await checkServer(databaseUrl)];
  const models = await checkModels(settings);
  const port = await checkPort(settings);
  const localUrl = port.state === 'problem' ? undefined : await findServiceUrl(settings);
  const programs = await checkPrograms({ url: localUrl, userId, apiKey }, localUrl !== undefined);
  return [...database, ...models, port, ...programs];
}

/** Returns the name of the account that runs this process; undefined for a process without an account. */
function getAccountName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

async function checkDatabaseFile(dbPath: string): Promise<Finding[]> {
  const disk = await checkDisk(dbPath);
  const isWritable = disk.every(({ state }) => state !== 'problem');
  return [...disk, ...(isWritable ? [await checkSync(existingFolder(dbPath))] : []), await checkFile(dbPath)];
}

const COLORS = { ok: 'green', warning: 'yellow', problem: 'red' } as const;
const STATE_COLUMNS = 'problem'.length;
const CHECK_COLUMNS = 'settings'.length;

function format({ check, state, found, advice }: Finding): string {
  const line = `${styleText(COLORS[state], state.padEnd(STATE_COLUMNS))}  ${check.padEnd(CHECK_COLUMNS)}  ${found}\n`;
  return advice === undefined ? line : `${line}${' '.repeat(STATE_COLUMNS + CHECK_COLUMNS + 4)}→ ${advice}\n`;
}
