import { backUpFile } from '@memoryd/engine';
import { type AddCommand, withOptions } from './command.ts';
import { DATABASE_OPTIONS, type DatabaseFlags, existingFile } from './database.ts';
import { interruptible, showProgress } from './progress.ts';

/** `memoryd backup FILE`. */
export const backupCommand: AddCommand = (program, env) => {
  const command = program
    .command('backup')
    .argument('<file>', 'where the copy goes; a file that exists is not overwritten')
    .description('Copy the database file into another, whether or not it is being served.');
  withOptions(command, DATABASE_OPTIONS).action(async (file: string, flags: DatabaseFlags) => {
    const progress = showProgress('copying');
    const onCopied = progress.show;
    const { sizeBytes } = await interruptible((signal) =>
      backUpFile(existingFile(flags, env), file, { signal, onCopied }),
    ).finally(progress.end);
    process.stdout.write(`${file}: ${sizeBytes} bytes\n`);
  });
};
