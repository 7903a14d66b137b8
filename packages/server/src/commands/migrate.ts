import { databaseNamed, type Migrated, migrateDatabase } from '@memoryd/engine';
import type { AddCommand } from './command.ts';
import { interruptible, showProgress } from './progress.ts';

interface Flags {
  from: string;
  to: string;
  json?: true;
}

/** `memoryd migrate --from DATABASE --to DATABASE`: exit code 1 where the two are not the same in the end. */
export const migrateCommand: AddCommand = (program) => {
  program
    .command('migrate')
    .requiredOption('--from <database>', 'the path of a database file, or the address of a PostgreSQL database')
    .requiredOption('--to <database>', 'another such, which is empty or has a part of it from an earlier migration')
    .option('--json', 'print what was moved as JSON')
    .description('Bring all that a database keeps into another and compare the two. It may be done again to go on.')
    .action(async ({ from, to, json }: Flags) => {
      const progress = showProgress('migrating');
      const databases = { from: databaseNamed(from), to: databaseNamed(to) };
      const migrated = await interruptible((signal) =>
        migrateDatabase(databases, { signal, onMigrated: progress.show }),
      ).finally(progress.end);
      process.stdout.write(json ? `${JSON.stringify(migrated)}\n` : told(migrated));
    });
};

function told({ namespaces, keys }: Migrated): string {
  const lines = namespaces.map(({ name, lines, sha256 }) => `${name}: ${lines} lines, SHA-256 ${sha256}\n`);
  return [...lines, `${namespaces.length} namespaces and ${keys} keys are the same in both\n`].join('');
}
