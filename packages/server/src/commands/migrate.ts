import { counted } from '@memoryd/contract';
import type { Migrated } from '@memoryd/engine';
import { type AddCommand, type AnswerFlags, destructive, JSON_OPTION, withOptions } from './command.ts';
import { print } from './output.ts';
import { interruptible, showProgress } from './progress.ts';

type MigrateFlags = AnswerFlags & { from: string; to: string };

/** `memoryd migrate --from DATABASE --to DATABASE`: exit code 1 where the two are not the same in the end. */
export const migrateCommand: AddCommand = (program) => {
  const command = destructive(program.command('migrate'))
    .requiredOption('--from <database>', 'the path of a database file, or the address of a PostgreSQL database')
    .requiredOption('--to <database>', 'another such, which is empty or has a part of it from an earlier migration')
    .description('Bring all that a database keeps into another and compare the two. It may be done again to go on.');
  withOptions(command, [JSON_OPTION]).action(async (flags: MigrateFlags) => {
    const { databaseNamed, migrateDatabase } = await import('@memoryd/engine');
    const { from, to } = flags;
    const progress = await showProgress('migrating', 'line');
    const databases = { from: databaseNamed(from), to: databaseNamed(to) };
    const migrated = await interruptible((signal) =>
      migrateDatabase(databases, { signal, onMigrated: progress.show }),
    ).finally(progress.end);
    await print(flags, migrated, () => told(migrated));
  });
};

function told({ namespaces, keys }: Migrated): string {
  const lines = namespaces.map(({ name, lines, sha256 }) => `${name}: ${counted(lines, 'line')}, SHA-256 ${sha256}\n`);
  return [...lines, `the same in both: ${counted(namespaces.length, 'namespace')} and ${counted(keys, 'key')}\n`].join(
    '',
  );
}
