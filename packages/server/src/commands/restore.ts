import { type AddCommand, type AnswerFlags, destructive, JSON_OPTION, withOptions } from './command.ts';
import { DATABASE_OPTIONS, getFile, ONLY_FILES, readDatabase } from './database.ts';
import { print } from './output.ts';
import { interruptible, showProgress } from './progress.ts';

/** `memoryd restore FILE`. */
export const restoreCommand: AddCommand = (program, env) => {
  const command = destructive(program.command('restore'))
    .argument('<file>', 'a copy that memoryd backup or GET /backup made')
    .description(
      `Check a copy and put it where the database is to be; one that is there is not overwritten. ${ONLY_FILES}`,
    );
  withOptions(command, [...DATABASE_OPTIONS, JSON_OPTION]).action(async (file: string, flags: AnswerFlags) => {
    const { restoreFile } = await import('@memoryd/engine');
    const dbPath = getFile(readDatabase(flags, env));
    const progress = await showProgress('restoring', 'byte');
    const onCopied = progress.show;
    await interruptible((signal) => restoreFile(file, dbPath, { signal, onCopied })).finally(progress.end);
    await print(flags, { db_path: dbPath, status: 'restored' }, () => `${dbPath}: restored\n`);
  });
};
