import { existsSync } from 'node:fs';
import { type Administration, openAdministration } from '@memoryd/engine';
import { type Command, Option } from 'commander';
import { type Environment, readSettings, SettingsError, settingOptions } from '../settings.ts';
import { withOptions } from './command.ts';

/** What commands on a database file are given beside their own options. */
export interface AdministrationFlags {
  dbPath?: string;
  json?: true;
}

/** Adds the options that every command on a database file has. */
export function withDatabase(command: Command): Command {
  return withOptions(command, [...settingOptions(['dbPath']), new Option('--json', 'print JSON')]);
}

/** Makes the commands that follow a name be asked for by theirs. */
export function needsCommand(group: Command): void {
  group.allowUnknownOption().allowExcessArguments();
  group.action(() => {
    const names = group.commands.map((command) => command.name()).join(', ');
    throw new SettingsError(`memoryd ${group.name()} needs one of ${names}`);
  });
}

/** Does something with a database file, served or not, that has to be there. */
export function administer<T>(
  flags: AdministrationFlags,
  env: Environment,
  work: (administration: Administration) => Promise<T>,
): Promise<T> {
  const { dbPath } = settingsOf(flags, env);
  if (!existsSync(dbPath)) throw new SettingsError(`there is no database at ${dbPath}; --db-path says where it is`);
  return administerNew(flags, env, work);
}

/** As `administer`, and makes the file where it is missing. */
export async function administerNew<T>(
  flags: AdministrationFlags,
  env: Environment,
  work: (administration: Administration) => Promise<T>,
): Promise<T> {
  const administration = await openAdministration(settingsOf(flags, env));
  try {
    return await work(administration);
  } finally {
    await administration.close();
  }
}

/** Prints an answer: as JSON where that is asked for, else as a text for people. */
export function print(flags: AdministrationFlags, answer: unknown, asText: () => string): void {
  process.stdout.write(flags.json ? `${JSON.stringify(answer)}\n` : asText());
}

function settingsOf({ dbPath }: AdministrationFlags, env: Environment): { dbPath: string } {
  return readSettings(dbPath === undefined ? {} : { dbPath }, env);
}
