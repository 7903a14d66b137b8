import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { getLines, type ImportResponse, LIMITS, MemoryError } from '@memoryd/contract';
import { EXIT_CODES } from '../exit-codes.ts';
import type { Environment } from '../settings/read.ts';
import { type AddCommand, type CommonFlags, withExamples } from './command.ts';
import { OWN_SCOPE_OPTIONS, withMemories, withMemoryOptions } from './memories.ts';
import { print } from './output.ts';
import { showProgress } from './progress.ts';

/** `memoryd import [FILE]`: exit code 1 if a line was refused. */
export const importCommand: AddCommand = (program, env) => {
  const command = program
    .command('import')
    .argument('[file]', 'file that memoryd export wrote, or - for standard input', '-')
    .summary('Store memories from an export.')
    .description(
      'Store memories that memoryd export wrote. Existing memories stay unchanged, so that you can repeat an import that ' +
        'was interrupted. A memory whose id belongs to another user or agent gets a new id. The exit code is 1 if a line ' +
        'was refused.',
    );
  withExamples(command, 'memoryd import memories.ndjson');
  withMemoryOptions(command, OWN_SCOPE_OPTIONS).action((file: string, flags: CommonFlags) =>
    importFrom(file, flags, env),
  );
};

async function importFrom(file: string, flags: CommonFlags, env: Environment): Promise<void> {
  const { pieces, sizeBytes } = file === '-' ? { pieces: process.stdin, sizeBytes: 0 } : await openFile(file);
  const result = await withMemories(flags, env, { make: true }, ({ api }) =>
    api.importMemories(getLines(withProgress(pieces, sizeBytes), LIMITS.exportLineBytes)),
  );
  await print(flags, result, () => format(result));
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

function format({ new_ids = {}, ...response }: ImportResponse): string {
  const { imported_count, unchanged_count, refused_count, refused, unlinked_count } = response;
  const counts = `imported ${imported_count}, unchanged ${unchanged_count}, refused ${refused_count}`;
  const links = unlinked_count > 0 ? `, links not restored ${unlinked_count}` : '';
  const ids = Object.entries(new_ids).map(
    ([id, newId]) => `${id} belongs to another user or agent; stored as ${newId}\n`,
  );
  const lines = refused.map(({ line, error }) => `line ${line}: ${error.message}\n`);
  const more = refused_count > refused.length ? [`and ${refused_count - refused.length} more\n`] : [];
  return [`${counts}${links}\n`, ...ids, ...lines, ...more].join('');
}
