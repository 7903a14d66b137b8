import { restoreFile } from '@memoryd/engine';
import { type AddCommand, withOptions } from './command.ts';
import { DATABASE_OPTIONS, type DatabaseFlags, fileOf } from './database.ts';
import { interruptible, showProgress } from './progress.ts';

/** `memoryd restore FILE`. */
export const restoreCommand: AddCommand = (program, env) => {
  const command = program
    .command('restore')
    .argument('<file>', 'a copy that memoryd backup or GET /backup made')
    .description('Check a copy and put it where the database is to be; one that is there is not overwritten.');
  withOptions(command, DATABASE_OPTIONS).action(async (file: string, flags: DatabaseFlags) => {
    const dbPath = fileOf(flags, env);
    const progress = showProgress('restoring');
    const onCopied = progress.show;
    await interruptible((signal) => restoreFile(file, dbPath, { signal, onCopied })).finally(progress.end);
    process.stdout.write(`${dbPath}: restored\n`);
  });
};
