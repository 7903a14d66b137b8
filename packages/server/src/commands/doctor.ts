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
import { type AddCommand, type AnswerFlags, JSON_OPTION, withOptions } from './command.ts';
import { isRemote, serviceAt } from './memories.ts';
import { print } from './output.ts';

/** `memoryd doctor`: exit code 1 where there is a problem. */
export const doctorCommand: AddCommand = (program, env) => {
  const command = program
    .command('doctor')
    .description(
      'Check Node, settings, disk, sync time, database, models and port as memoryd serve would use them, or the service at ' +
        '--url, and say what to do; ends with 1 where there is a problem.',
    );
  withOptions(command, [...settingOptions([...SERVICE_SETTINGS, 'url']), JSON_OPTION]).action((flags: AnswerFlags) =>
    examine(flags, env),
  );
};

async function examine(flags: AnswerFlags, env: Environment): Promise<void> {
  const { settings, findings: ofSettings } = checkSettings(flags, env);
  const others = settings === undefined ? [] : await getFindings(flags, settings);
  const findings = [checkNode(), ...ofSettings, ...others];
  const ok = findings.every(({ state }) => state !== 'problem');
  await print(flags, { ok, findings }, () => findings.map(told).join(''));
  if (!ok) process.exitCode = EXIT_CODES.failed.code;
}

async function getFindings(flags: AnswerFlags, settings: Settings): Promise<Finding[]> {
  if (isRemote(flags, settings)) return checkService(await serviceAt(settings), settings.url);
  const { dbPath, databaseUrl } = settings.database;
  const ofDatabase = databaseUrl === undefined ? await findingsOfFile(dbPath) : [await checkServer(databaseUrl)];
  return [...ofDatabase, ...(await checkModels(settings)), await checkPort(settings)];
}

async function findingsOfFile(dbPath: string): Promise<Finding[]> {
  const disk = await checkDisk(dbPath);
  const isWritable = disk.every(({ state }) => state !== 'problem');
  return [...disk, ...(isWritable ? [await checkSync(existingFolder(dbPath))] : []), await checkFile(dbPath)];
}

const COLOURS = { ok: 'green', warning: 'yellow', problem: 'red' } as const;
const STATE_COLUMNS = 'problem'.length;
const CHECK_COLUMNS = 'settings'.length;

function told({ check, state, found, advice }: Finding): string {
  const line = `${styleText(COLOURS[state], state.padEnd(STATE_COLUMNS))}  ${check.padEnd(CHECK_COLUMNS)}  ${found}\n`;
  return advice === undefined ? line : `${line}${' '.repeat(STATE_COLUMNS + CHECK_COLUMNS + 4)}→ ${advice}\n`;
}
