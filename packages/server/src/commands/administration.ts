import { type Administration, openAdministration } from '@memoryd/engine';
import { type Command, Option } from 'commander';
import { type Environment, SettingsError } from '../settings.ts';
import { withOptions } from './command.ts';
import { DATABASE_OPTIONS, type DatabaseFlags, databaseOf, existingDatabase } from './database.ts';

/** What commands on a database are given beside their own options. */
export interface AdministrationFlags extends DatabaseFlags {
  json?: true;
}

/** Adds the options that every command on a database has. */
export function withDatabase(command: Command): Command {
  return withOptions(command, [...DATABASE_OPTIONS, new Option('--json', 'print JSON')]);
}

/** Makes the commands that follow a name be asked for by theirs. */
export function needsCommand(group: Command): void {
  group.allowUnknownOption().allowExcessArguments();
  group.action(() => {
    const names = group.commands.map((command) => command.name()).join(', ');
    throw new SettingsError(`memoryd ${group.name()} needs one of ${names}`);
  });
}

/** Does something with a database, served or not, that has to be there. */
export async function administer<T>(
  flags: AdministrationFlags,
  env: Environment,
  work: (administration: Administration) => Promise<T>,
): Promise<T> {
  existingDatabase(flags, env);
  return administerNew(flags, env, work);
}

/** As `administer`, and makes what is missing of the database. */
export async function administerNew<T>(
  flags: AdministrationFlags,
  env: Environment,
  work: (administration: Administration) => Promise<T>,
): Promise<T> {
  const administration = await openAdministration(databaseOf(flags, env));
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
