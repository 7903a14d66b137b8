import { type FileImportResponse, formatCount, type ImportFormat } from '@memoryd/contract';
import { EXIT_CODES } from '../exit-codes.ts';
import type { FormatOptions } from '../imports/format.ts';
import type { ImportPartsOptions, TextStore } from '../imports/import-parts.ts';
import { parseMap } from '../imports/parse-map.ts';
import type { Detection } from '../imports/read-parts.ts';
import type { Source, SourceFile } from '../imports/source/source.ts';
import { loadSettings } from '../settings/file.ts';
import type { Environment } from '../settings/read.ts';
import { canAsk, confirm } from './ask.ts';
import type { CommonFlags } from './command.ts';
import { isRemote } from './database.ts';
import { formatPreview, formatResult, type ReportedPreview, type ReportOptions } from './import-report.ts';
import { getUndoCommand } from './import-undo.ts';
import { toOwner, withMemories } from './memories.ts';
import { DEFAULT_COLUMNS, note, print, write } from './output.ts';
import { interruptible, showProgress } from './progress.ts';
import { warnings } from './warnings.ts';

export type ImportFlags = CommonFlags & {
  from?: ImportFormat;
  dryRun?: true;
  yes?: true;
  map?: string[];
  rest?: 'metadata';
  capture?: FormatOptions['capture'];
  sourceUser?: string;
  keepSecrets: boolean;
};

/** Shown if the service refuses texts because of their users. */
const OTHER_USER =
  'The API key stores memories of one user only, and the file names others. Repeat the command with --user and the user ' +
  'of the key; with --source-user too, if the file has several users.';

/**
 * Imports a source of another program: shows what it contains, asks on a terminal, stores, and prints the result. Sets
 * the exit code 1 if an item was refused.
 */
export async function importForeign(
  source: Source,
  detection: Detection,
  flags: ImportFlags,
  env: Environment,
): Promise<void> {
  const columns = process.stdout.columns || DEFAULT_COLUMNS;
  const report = { title: detection.format.title, columns, ...(flags.utc && { utc: flags.utc }) };
  let shown: ReportedPreview | undefined;
  const onPreview = async (preview: ReportedPreview): Promise<boolean> => {
    shown = preview;
    if (!flags.json) await write(formatPreview(preview, report));
    if (flags.json || flags.yes || !canAsk()) return true;
    return confirm(`Store ${formatCount(preview.found_count, 'memory', 'memories')}?`);
  };
  const result = await runImport(source, detection, flags, env, onPreview);
  await print(flags, result, () => formatImport(result, shown, report, flags));
  if (result.import_id === undefined && !flags.json) note(getReason(flags));
  const isForbidden = result.refused.some(({ error }) => error.code === 'FORBIDDEN');
  if (isForbidden && toOwner(flags).user_id === undefined) note(OTHER_USER);
  if (result.refused_count > 0) process.exitCode = EXIT_CODES.failed.code;
}

function formatImport(
  result: FileImportResponse,
  shown: ReportedPreview | undefined,
  report: ReportOptions,
  flags: ImportFlags,
): string {
  const { import_id } = result;
  if (shown === undefined) return formatPreview(result, report);
  return import_id === undefined ? '' : formatResult(result, shown, getUndoCommand(import_id, flags));
}

function getReason({ dryRun }: ImportFlags): string {
  return dryRun ? 'Nothing was stored, because of --dry-run.' : 'Nothing was stored.';
}

async function runImport(
  source: Source,
  detection: Detection,
  flags: ImportFlags,
  env: Environment,
  onPreview: (preview: ReportedPreview) => Promise<boolean>,
): Promise<FileImportResponse> {
  const [{ importParts }, { readParts }] = await Promise.all([
    import('../imports/import-parts.ts'),
    import('../imports/read-parts.ts'),
  ]);
  const format = getFormatOptions(flags, env);
  const redact = getRedact(flags, env);
  const progress = await createProgress(detection.files);
  const telemetry = warnings();
  const onDefect = (error: unknown) =>
    telemetry.report({ level: 'error', component: 'import', event: 'import_file_failed', error });
  return interruptible(async (signal) => {
    const reading = {
      from: detection.format.name,
      name: source.name,
      contentKey: source.contentKey,
      read: () => readParts(source, { ...detection, files: progress.files }, { format, signal, onDefect }),
    };
    const options: ImportPartsOptions = {
      dryRun: flags.dryRun,
      scope: toOwner(flags),
      sourceUser: flags.sourceUser,
      redact,
      signal,
      onPreview(preview) {
        progress.endReading();
        return onPreview(preview);
      },
      onProgress: progress.showStored,
    };
    try {
      return await importParts(createStore(flags, env), reading, options);
    } catch (error) {
      if (signal.aborted && progress.hasStored()) note('Repeat the command to go on. No text is stored twice.');
      throw error;
    } finally {
      progress.end();
    }
  });
}

/** Returns a store that opens the database or reaches the service only when there is something to store. */
function createStore(flags: ImportFlags, env: Environment): TextStore {
  return {
    importTexts: (texts, request) =>
      withMemories(flags, env, { make: true }, ({ api }) => api.importTexts(texts, request)),
  };
}

/** Returns whether secrets are removed, as the settings say without a flag. Undefined if the service decides. */
function getRedact(flags: ImportFlags, env: Environment): boolean | undefined {
  const settings = loadSettings(flags, env);
  if (isRemote(flags, settings)) return flags.keepSecrets ? false : undefined;
  return settings.redact === 'on' || (settings.redactImports === 'on' && !flags.keepSecrets);
}

function getFormatOptions(flags: ImportFlags, env: Environment): FormatOptions {
  const { capture, map, rest, utc } = flags;
  const { timezone } = loadSettings(flags, env);
  return {
    capture: capture ?? 'prompts',
    map: map === undefined ? {} : parseMap(map.join(',')),
    restToMetadata: rest === 'metadata',
    readsRepositories: true,
    timeZone: utc ? 'UTC' : (timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone),
  };
}

/** Shows two progress bars on a terminal: bytes of the files while they are read, and then the stored texts. */
async function createProgress(files: readonly SourceFile[]) {
  const [reading, storing] = await Promise.all([
    showProgress('reading', 'byte'),
    showProgress('importing', 'memory', 'memories'),
  ]);
  const totalBytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  let isReading = true;
  let hasStored = false;
  let bytes = 0;
  const endReading = () => {
    if (isReading) reading.end();
    isReading = false;
  };
  const onBytes = (count: number) => {
    bytes += count;
    if (isReading) reading.show(bytes, totalBytes);
  };
  return {
    /** The same files, of which each read piece is shown. */
    files: files.map((file) => withBytes(file, onBytes)),
    endReading,
    showStored(done: number, total: number) {
      hasStored = true;
      storing.show(done, total);
    },
    hasStored: () => hasStored,
    end() {
      endReading();
      storing.end();
    },
  };
}

function withBytes(file: SourceFile, onBytes: (count: number) => void): SourceFile {
  const { path, sizeBytes, modifiedAt } = file;
  return {
    path,
    sizeBytes,
    ...(modifiedAt !== undefined && { modifiedAt }),
    async *open() {
      for await (const piece of file.open()) {
        onBytes(piece.length);
        yield piece;
      }
    },
  };
}
