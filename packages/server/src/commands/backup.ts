import { getDatabaseName } from '@memoryd/engine/defaults';
import { atService } from '../place-errors.ts';
import { loadSettings } from '../settings/file.ts';
import type { Environment, Settings } from '../settings/read.ts';
import { type AddCommand, type CommonFlags, JSON_OPTION, withExamples, withOptions } from './command.ts';
import { assertThere, getFile, isRemote, ONLY_FILES } from './database.ts';
import { PLACE_OPTIONS, serviceAt } from './memories.ts';
import { writeNewFile } from './new-file.ts';
import { note, print } from './output.ts';
import { interruptible, type Progress, showProgress } from './progress.ts';

export const backupCommand: AddCommand = (program, env) => {
  const command = program
    .command('backup')
    .argument('<file>', 'new file for the copy; an existing file is not overwritten')
    .summary('Copy the database into a file.')
    .description(
      `Copy the database with all namespaces into a file. A server may use it at the same time. ${ONLY_FILES}`,
    );
  withExamples(command, 'memoryd backup memory-copy.db', 'memoryd backup copy.db --url http://127.0.0.1:8090');
  withOptions(command, [...PLACE_OPTIONS, JSON_OPTION]).action((file: string, flags: CommonFlags) =>
    backUp(file, flags, env),
  );
};

async function backUp(file: string, flags: CommonFlags, env: Environment): Promise<void> {
  const settings = loadSettings(flags, env);
  const [copy, place] = isRemote(flags, settings)
    ? [download, settings.url]
    : [copyFile, getDatabaseName(settings.database)];
  const progress = await showProgress('copying', 'byte');
  const sizeBytes = await interruptible((signal) => copy(file, settings, { signal, progress })).finally(progress.end);
  await print(flags, { file, size_bytes: sizeBytes }, () => `${file}: ${sizeBytes} bytes of ${place}\n`);
}

interface Copying {
  signal: AbortSignal;
  progress: Progress;
}

async function copyFile(file: string, settings: Settings, { signal, progress }: Copying): Promise<number> {
  const { backUpFile, recordBackup } = await import('@memoryd/engine');
  const dbPath = getFile(settings.database);
  await assertThere(settings.database);
  const { sizeBytes } = await backUpFile(dbPath, file, { signal, onCopied: progress.show });
  // The backup is complete even if its time cannot be recorded, for example because the disk is full.
  await recordBackup({ dbPath }).catch((error: unknown) =>
    note(`the time of the backup could not be recorded in the database: ${error}`),
  );
  return sizeBytes;
}

async function download(file: string, settings: Settings, { signal, progress }: Copying): Promise<number> {
  const service = await serviceAt(settings);
  let sizeBytes = 0;
  async function* withProgress(): AsyncIterable<Uint8Array> {
    for await (const piece of service.backup(signal)) {
      progress.show((sizeBytes += piece.length), 0);
      yield piece;
    }
  }
  await atService(settings.url, () => writeNewFile(file, withProgress(), signal));
  return sizeBytes;
}
