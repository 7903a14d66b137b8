import { stat } from 'node:fs/promises';
import { MemoryError } from '@memoryd/contract';
import type { ForeignFormat } from '../imports/format.ts';
import type { Environment } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';
import { importExport } from './import-export.ts';
import { type ImportFlags, importForeign } from './import-foreign.ts';
import { nameOption } from './request-options.ts';

/** The formats for which an option has an effect. For other formats, the option is refused. */
const FORMATS_BY_OPTION: readonly { flag: 'map' | 'rest' | 'capture'; formats: readonly ForeignFormat[] }[] = [
  { flag: 'map', formats: ['csv', 'jsonl'] },
  { flag: 'rest', formats: ['csv', 'jsonl'] },
  { flag: 'capture', formats: ['claude-code', 'codex', 'gemini-cli'] },
];

/**
 * Imports a file or folder, of the format that `--from` names or that its content shows. Sets the exit code 1 if an
 * item was refused.
 *
 * @throws UsageError for an option that the format does not have
 */
export async function importPath(path: string, flags: ImportFlags, env: Environment): Promise<void> {
  if (flags.from === 'memoryd' || (await isStream(path))) return importOwn(path, flags, env);
  const [{ openSource }, { detectFormat }] = await Promise.all([
    import('../imports/source/open-source.ts'),
    import('../imports/detect.ts'),
  ]);
  const source = await openSource(path);
  try {
    const { format, ...files } = await detectFormat(source, flags.from);
    if (format === 'memoryd') return await importOwn(path, flags, env);
    assertOptions(format.name, flags);
    await importForeign(source, { format, ...files }, flags, env);
  } catch (error) {
    throw toOptionError(error);
  } finally {
    await source.close();
  }
}

/** Returns whether a path can be read only once, as an export from another process: standard input or a pipe. */
async function isStream(path: string): Promise<boolean> {
  if (path === '-') return true;
  const stats = await stat(path).catch((cause: NodeJS.ErrnoException) => {
    throw new MemoryError('UNAVAILABLE', `${path} cannot be read (${cause.code}); check the path and its permissions`, {
      cause,
    });
  });
  return !stats.isFile() && !stats.isDirectory();
}

/** Imports an export of memoryd, which has neither a preview nor options. */
async function importOwn(path: string, flags: ImportFlags, env: Environment): Promise<void> {
  if (flags.from !== undefined && flags.from !== 'memoryd') {
    throw new UsageError(
      `--from ${flags.from} needs the path of a file or folder; only an export of memoryd can come from a pipe`,
    );
  }
  const name = path === '-' ? 'standard input' : path;
  const given = [
    ['--dry-run', flags.dryRun],
    ['--map', flags.map],
    ['--rest', flags.rest],
    ['--capture', flags.capture],
    ['--source-user', flags.sourceUser],
    ['--no-redact', flags.keepSecrets || undefined],
  ].find(([, value]) => value !== undefined);
  if (given) throw new UsageError(`${given[0]} is for files of other programs, and ${name} is an export of memoryd`);
  await importExport(path, flags, env).catch((error: unknown) => {
    throw isForeign(error)
      ? new UsageError(`${name} must be an export of memoryd; import a file of another program by its path`)
      : error;
  });
}

/** Returns whether an import failed because its first line is not the header of an export. */
function isForeign(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return code === 'INVALID_REQUEST' && typeof message === 'string' && message.startsWith('format ');
}

/** Returns an error about a field of the request as an error about its option. */
function toOptionError(error: unknown): unknown {
  if (!(error instanceof MemoryError) || error.code !== 'INVALID_REQUEST') return error;
  return new UsageError(nameOption(error.message, ['from', 'map', 'source_user']));
}

function assertOptions(name: ForeignFormat, flags: ImportFlags): void {
  for (const { flag, formats } of FORMATS_BY_OPTION) {
    if (flags[flag] === undefined || formats.includes(name)) continue;
    throw new UsageError(`--${flag} is for ${formats.join(', ')}, and this is ${name}; leave out --${flag}`);
  }
}
