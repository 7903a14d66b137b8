import type { Administration } from '@memoryd/engine';
import type { Command } from 'commander';
import { cannotOpen } from '../database-name.ts';
import type { Environment } from '../settings/read.ts';
import { type CommonFlags, JSON_OPTION, withOptions } from './command.ts';
import { DATABASE_OPTIONS, existingDatabase, readDatabase } from './database.ts';

/** Adds the database options and `--json` to a command. */
export function withDatabase(command: Command): Command {
  return withOptions(command, [...DATABASE_OPTIONS, JSON_OPTION]);
}

/** Runs `work` on an existing database, which a server may be using at the same time. */
export async function administer<T>(
  flags: CommonFlags,
  env: Environment,
  work: (administration: Administration) => Promise<T>,
): Promise<T> {
  existingDatabase(flags, env);
  return administerNew(flags, env, work);
}

/** Like `administer`, but creates a missing database. */
export async function administerNew<T>(
  flags: CommonFlags,
  env: Environment,
  work: (administration: Administration) => Promise<T>,
): Promise<T> {
  const { openAdministration } = await import('@memoryd/engine');
  const database = readDatabase(flags, env);
  const administration = await openAdministration(database).catch((cause) => {
    throw cannotOpen(database, cause);
  });
  try {
    return await work(administration);
  } finally {
    await administration.close();
  }
}
