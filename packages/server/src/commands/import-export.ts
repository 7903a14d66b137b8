import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { getLines, type ImportResponse, LIMITS, MemoryError } from '@memoryd/contract';
import { EXIT_CODES } from '../exit-codes.ts';
import type { Environment } from '../settings/read.ts';
import type { CommonFlags } from './command.ts';
import { getUndoCommand } from './import-undo.ts';
import { withMemories } from './memories.ts';
import { print } from './output.ts';
import { showProgress } from './progress.ts';

/**
 * Imports an export of memoryd. Sets the exit code 1 if a line was refused.
 *
 * @param file a path, or - for standard input
 */
export async function importExport(file: string, flags: CommonFlags, env: Environment): Promise<void> {
  const { pieces, sizeBytes } = file === '-' ? { pieces: process.stdin, sizeBytes: 0 } : await openFile(file);
  const result = await withMemories(flags, env, { make: true }, ({ api }) =>
    api.importMemories(getLines(withProgress(pieces, sizeBytes), LIMITS.exportLineBytes)),
  );
  await print(flags, result, () => format(result, flags));
  if (result.refused_count > 0) process.exitCode = EXIT_CODES.failed.code;
}
async function openFile(file: string): Promise<{ pieces: Readable; sizeBytes: number }> {
  try {
    const handle = await open(file);
    const stats = await handle.stat();
    // Opening a folder succeeds, and only reading it would fail.
    if (stats.isDirectory()) throw Object.assign(new Error('the path is a folder'), { code: 'EISDIR' });
    return { pieces: handle.createReadStream(), sizeBytes: stats.size };
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new MemoryError('UNAVAILABLE', `${file} cannot be read (${code}); check the path and its permissions`, {
      cause,
    });
  }
}

async function* withProgress(pieces: Readable, sizeBytes: number): AsyncIterable<Uint8Array> {
  const progress = await showProgress('importing', 'byte');
  let bytes = 0;
  try {
    for await (const piece of pieces as AsyncIterable<Uint8Array>) {
      bytes += piece.length;
      progress.show(bytes, sizeBytes);
      yield piece;
    }
  } finally {
    progress.end();
  }
}

function format({ new_ids = {}, ...response }: ImportResponse, flags: CommonFlags): string {
  const { imported_count, unchanged_count, refused_count, refused, unlinked_count, import_id } = response;
  const counts = `imported ${imported_count}, unchanged ${unchanged_count}, refused ${refused_count}`;
  const links = unlinked_count > 0 ? `, links not restored ${unlinked_count}` : '';
  const ids = Object.entries(new_ids).map(
    ([id, newId]) => `${id} belongs to another user or agent; stored as ${newId}\n`,
  );
  const lines = refused.map(({ line, error }) => `line ${line}: ${error.message}\n`);
  const more = refused_count > refused.length ? [`and ${refused_count - refused.length} more\n`] : [];
  const undo = imported_count > 0 && import_id !== undefined ? [`undo: ${getUndoCommand(import_id, flags)}\n`] : [];
  return [`${counts}${links}\n`, ...ids, ...lines, ...more, ...undo].join('');
}
