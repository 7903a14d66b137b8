import { type AddCommand, type CommonFlags, destructive, JSON_OPTION, withExamples, withOptions } from './command.ts';
import { DATABASE_OPTIONS, getFile, ONLY_FILES, readOwnDatabase } from './database.ts';
import { print } from './output.ts';
import { interruptible, showProgress } from './progress.ts';

export const restoreCommand: AddCommand = (program, env) => {
  const command = destructive(program.command('restore'))
    .argument('<file>', 'copy that memoryd backup or GET /backup made')
    .summary('Restore a database from a copy.')
    .description(
      `Check a copy and place it at the path of the database. An existing database is not overwritten. ${ONLY_FILES}`,
    );
  withExamples(command, 'memoryd restore memory-copy.db --db-path memory.db');
  withOptions(command, [...DATABASE_OPTIONS, JSON_OPTION]).action(async (file: string, flags: CommonFlags) => {
    const { restoreFile } = await import('@memoryd/engine');
    const dbPath = getFile(readOwnDatabase('restore', flags, env));
    const progress = await showProgress('restoring', 'byte');
    const onCopied = progress.show;
    await interruptible((signal) => restoreFile(file, dbPath, { signal, onCopied })).finally(progress.end);
    await print(flags, { db_path: dbPath, status: 'restored' }, () => `${dbPath}: restored\n`);
  });
};
