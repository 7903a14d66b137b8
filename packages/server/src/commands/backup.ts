import { backUpFile } from '@memoryd/engine';
import { type AddCommand, withOptions } from './command.ts';
import { type DatabaseFlags, DB_PATH_OPTIONS, existingDbPath } from './database.ts';
import { interruptible, showProgress } from './progress.ts';

/** `memoryd backup FILE`. */
export const backupCommand: AddCommand = (program, env) => {
  const command = program
    .command('backup')
    .argument('<file>', 'where the copy goes; a file that exists is not overwritten')
    .description('Copy the database into a file, whether or not it is being served.');
  withOptions(command, DB_PATH_OPTIONS).action(async (file: string, flags: DatabaseFlags) => {
    const progress = showProgress('copying');
    const onCopied = progress.show;
    const { sizeBytes } = await interruptible((signal) =>
      backUpFile(existingDbPath(flags, env), file, { signal, onCopied }),
    ).finally(progress.end);
    process.stdout.write(`${file}: ${sizeBytes} bytes\n`);
  });
};
