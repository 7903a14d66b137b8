import { formatCount } from '@memoryd/contract';
import type { Migrated } from '@memoryd/engine';
import { type AddCommand, type CommonFlags, destructive, JSON_OPTION, withExamples, withOptions } from './command.ts';
import { print } from './output.ts';
import { interruptible, showProgress } from './progress.ts';

type MigrateFlags = CommonFlags & { from: string; to: string };

/**
 * `memoryd migrate --from DATABASE --to DATABASE`: exit code 4 if the target contains other data, or if the two
 * databases differ at the end.
 */
export const migrateCommand: AddCommand = (program) => {
  const command = destructive(program.command('migrate'))
    .requiredOption('--from <database>', 'Path of a database file, or address of a PostgreSQL database.')
    .requiredOption(
      '--to <database>',
      'Path or address of the target, which is empty or was the target of the same migration before.',
    )
    .summary('Copy a database into another kind of database.')
    .description(
      'Copy all data of a database into another one, and compare the two. You can repeat a migration that was interrupted.',
    );
  withExamples(command, 'memoryd migrate --from memory.db --to postgres://memoryd@db.example/memories');
  withOptions(command, [JSON_OPTION]).action(async (flags: MigrateFlags) => {
    const { parseDatabase, migrateDatabase } = await import('@memoryd/engine');
    const { from, to } = flags;
    const progress = await showProgress('migrating', 'line');
    const databases = { from: parseDatabase(from), to: parseDatabase(to) };
    const migrated = await interruptible((signal) =>
      migrateDatabase(databases, { signal, onProgress: progress.show }),
    ).finally(progress.end);
    await print(flags, migrated, () => format(migrated));
  });
};

function format({ namespaces, keys }: Migrated): string {
  const lines = namespaces.map(
    ({ name, lines, sha256 }) => `${name}: ${formatCount(lines, 'line')}, SHA-256 ${sha256}\n`,
  );
  return [
    ...lines,
    `identical in both: ${formatCount(namespaces.length, 'namespace')} and ${formatCount(keys, 'key')}\n`,
  ].join('');
}
