import { withAdvice } from '../no-answer.ts';
import { loadSettings } from '../settings/file.ts';
import type { Environment, Settings } from '../settings/read.ts';
import { type AddCommand, type AnswerFlags, JSON_OPTION, withOptions } from './command.ts';
import { assertThere, getFile, ONLY_FILES } from './database.ts';
import { isRemote, PLACE_OPTIONS, serviceAt } from './memories.ts';
import { writeNewFile } from './new-file.ts';
import { note, print } from './output.ts';
import { interruptible, type Progress, showProgress } from './progress.ts';

/** `memoryd backup FILE`. */
export const backupCommand: AddCommand = (program, env) => {
  const command = program
    .command('backup')
    .argument('<file>', 'where the copy goes; a file that exists is not overwritten')
    .description(`Copy the database, all namespaces, into a file, whether or not it is being served. ${ONLY_FILES}`);
  withOptions(command, [...PLACE_OPTIONS, JSON_OPTION]).action((file: string, flags: AnswerFlags) =>
    backUp(file, flags, env),
  );
};

async function backUp(file: string, flags: AnswerFlags, env: Environment): Promise<void> {
  const settings = loadSettings(flags, env);
  const copy = isRemote(flags, settings) ? download : copyFile;
  const progress = await showProgress('copying', 'byte');
  const sizeBytes = await interruptible((signal) => copy(file, settings, { signal, progress })).finally(progress.end);
  await print(flags, { file, size_bytes: sizeBytes }, () => `${file}: ${sizeBytes} bytes\n`);
}

interface Copying {
  signal: AbortSignal;
  progress: Progress;
}

async function copyFile(file: string, settings: Settings, { signal, progress }: Copying): Promise<number> {
  const { backUpFile, noteBackup } = await import('@memoryd/engine');
  const dbPath = getFile(assertThere(settings).database);
  const { sizeBytes } = await backUpFile(dbPath, file, { signal, onCopied: progress.show });
  // The copy is whole, whatever becomes of the note: a database on a disk that takes no writes is worth a backup too.
  await noteBackup({ dbPath }).catch((error: unknown) =>
    note(`The backup could not be noted in the database, so that its age counts from the one before: ${error}`),
  );
  return sizeBytes;
}

async function download(file: string, settings: Settings, { signal, progress }: Copying): Promise<number> {
  const service = await serviceAt(settings);
  let sizeBytes = 0;
  async function* watched(): AsyncIterable<Uint8Array> {
    for await (const piece of service.backup(signal)) {
      progress.show((sizeBytes += piece.length), 0);
      yield piece;
    }
  }
  await withAdvice(service, () => writeNewFile(file, watched(), signal));
  return sizeBytes;
}
