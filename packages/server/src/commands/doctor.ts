import { styleText } from 'node:util';
import { checkDisk, existingFolder } from '../doctor/disk.ts';
import { checkFile } from '../doctor/file.ts';
import type { Finding } from '../doctor/finding.ts';
import { checkModels } from '../doctor/model.ts';
import { checkNode } from '../doctor/node.ts';
import { checkPort } from '../doctor/port.ts';
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
        '--url, and the programs of memoryd connect, and print what to do. The exit code is 1 if there is a problem.',
    );
  withExamples(command, 'memoryd doctor', 'memoryd doctor --url http://127.0.0.1:8090');
  withOptions(command, [...settingOptions([...SERVICE_SETTINGS, 'url']), JSON_OPTION]).action((flags: CommonFlags) =>
    examine(flags, env),
  );
};

async function examine(flags: CommonFlags, env: Environment): Promise<void> {
  const { settings, findings: settingsFindings } = checkSettings(flags, env);
  const others = settings === undefined ? [] : await getFindings(flags, settings);
  const { checkConnections } = await import('../doctor/connections.ts');
  const findings = [checkNode(), ...settingsFindings, ...others, ...(await checkConnections())];
  const ok = findings.every(({ state }) => state !== 'problem');
  await print(flags, { ok, findings }, () => findings.map(format).join(''));
  if (!ok) process.exitCode = EXIT_CODES.failed.code;
}

async function getFindings(flags: CommonFlags, settings: Settings): Promise<Finding[]> {
  if (isRemote(flags, settings)) return checkService(await serviceAt(settings), settings.url);
  const { dbPath, databaseUrl } = settings.database;
  const database = databaseUrl === undefined ? await checkDatabaseFile(dbPath) : [await checkServer(databaseUrl)];
  return [...database, ...(await checkModels(settings)), await checkPort(settings)];
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
