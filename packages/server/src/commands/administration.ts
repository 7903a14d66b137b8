import type { Administration } from '@memoryd/engine';
import type { Command } from 'commander';
import type { Environment } from '../settings/read.ts';
import { type AnswerFlags, JSON_OPTION, withOptions } from './command.ts';
import { DATABASE_OPTIONS, existingDatabase, readDatabase } from './database.ts';

/** Adds the options that every command on a database has. */
export function withDatabase(command: Command): Command {
  return withOptions(command, [...DATABASE_OPTIONS, JSON_OPTION]);
}

/** Does something with a database, served or not, that has to be there. */
export async function administer<T>(
  flags: AnswerFlags,
  env: Environment,
  work: (administration: Administration) => Promise<T>,
): Promise<T> {
  existingDatabase(flags, env);
  return administerNew(flags, env, work);
}

/** As `administer`, and makes what is missing of the database. */
export async function administerNew<T>(
  flags: AnswerFlags,
  env: Environment,
  work: (administration: Administration) => Promise<T>,
): Promise<T> {
  const { openAdministration } = await import('@memoryd/engine');
  const administration = await openAdministration(readDatabase(flags, env));
  try {
    return await work(administration);
  } finally {
    await administration.close();
  }
}
