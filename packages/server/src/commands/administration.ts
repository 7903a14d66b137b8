import { cannotOpen, getDatabaseName } from '@memoryd/engine/defaults';
import type { Command } from 'commander';
import { atService, withPlace } from '../place-errors.ts';
import { loadSettings } from '../settings/file.ts';
import type { Environment, Settings } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';
import { type CommonFlags, JSON_OPTION, UTC_OPTION, withOptions } from './command.ts';
import { assertThere, isRemote, isThere } from './database.ts';
import { assertNoApiKey, PLACE_OPTIONS } from './memories.ts';
import type { PlaceAdministration } from './place-administration.ts';

/** Adds the options that name a database or a service, and `--json`, to a command. */
export function withAdministration(command: Command): Command {
  return withOptions(command, [JSON_OPTION, UTC_OPTION, ...PLACE_OPTIONS]);
}

/**
 * Runs `work` with the service or the existing database that flags, environment and settings file name. A server may
 * use the database at the same time. Errors name the database or the service.
 *
 * @param canMake whether a missing database is created, if its path is not the default
 */
export async function administer<T>(
  flags: CommonFlags,
  env: Environment,
  work: (administration: PlaceAdministration) => Promise<T>,
  { canMake = false } = {},
): Promise<T> {
  const settings = loadSettings(flags, env);
  if (isRemote(flags, settings)) {
    const { connectAdministration } = await import('./service-administration.ts');
    return atService(settings.url, async () => work(await connectAdministration(settings)));
  }
  assertNoApiKey(flags);
  await (canMake ? assertNamed(settings) : assertThere(settings.database));
  return administerDatabase(settings, work);
}

/** Throws a UsageError if the database is missing and its path is the default, so that nobody has named the database. */
async function assertNamed({ database, isDatabaseNamed }: Settings): Promise<void> {
  if (isDatabaseNamed || (await isThere(database))) return;
  throw new UsageError(
    `there is no database at ${getDatabaseName(database)}, the default path; start memoryd serve first, which creates it, ` +
      'or name the database with --db-path or --database-url',
  );
}

async function administerDatabase<T>(
  { database }: Settings,
  work: (administration: PlaceAdministration) => Promise<T>,
): Promise<T> {
  const { openAdministration } = await import('@memoryd/engine');
  const place = getDatabaseName(database);
  const administration = await openAdministration(database).catch((cause) => {
    throw cannotOpen(database, cause);
  });
  const { keys, namespaces } = administration;
  const ownFlags = database.dbPath === undefined ? '--database-url ADDRESS' : `--db-path ${place}`;
  try {
    return await work({ place, ownFlags, keys, namespaces });
  } catch (error) {
    throw withPlace(place, error);
  } finally {
    await administration.close();
  }
}
