import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { getLines, type ImportResponse, LIMITS, MemoryError } from '@memoryd/contract';
import { EXIT_CODES } from '../exit-codes.ts';
import type { Environment } from '../settings/read.ts';
import type { AddCommand, AnswerFlags } from './command.ts';
import { OWN_SCOPE_OPTIONS, withMemories, withMemoryOptions } from './memories.ts';
import { print } from './output.ts';
import { showProgress } from './progress.ts';

/** `memoryd import [FILE]`: exit code 1 where a line was refused. */
export const importCommand: AddCommand = (program, env) => {
  const command = program
    .command('import')
    .argument('[file]', 'an export, - for standard input', '-')
    .description('Keep what was exported; ends with 1 where a line was refused. It may be done again to go on.');
  withMemoryOptions(command, OWN_SCOPE_OPTIONS).action((file: string, flags: AnswerFlags) =>
    importFrom(file, flags, env),
  );
};

async function importFrom(file: string, flags: AnswerFlags, env: Environment): Promise<void> {
  const { pieces, sizeBytes } = file === '-' ? { pieces: process.stdin, sizeBytes: 0 } : await opened(file);
  const answer = await withMemories(flags, env, { make: true }, ({ api }) =>
    api.importMemories(getLines(watched(pieces, sizeBytes), LIMITS.exportLineBytes)),
  );
  await print(flags, answer, () => told(answer));
  if (answer.refused_count > 0) process.exitCode = EXIT_CODES.failed.code;
}

async function opened(file: string): Promise<{ pieces: Readable; sizeBytes: number }> {
  try {
    const handle = await open(file);
    const stats = await handle.stat();
    // A folder may be opened, and says what it is only when it is read.
    if (stats.isDirectory()) throw Object.assign(new Error('it is a folder'), { code: 'EISDIR' });
    return { pieces: handle.createReadStream(), sizeBytes: stats.size };
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new MemoryError('UNAVAILABLE', `${file} cannot be read (${code})`, { cause });
  }
}

async function* watched(pieces: Readable, sizeBytes: number): AsyncIterable<Uint8Array> {
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

function told({ imported_count, unchanged_count, refused_count, refused, unlinked_count }: ImportResponse): string {
  const counts = `imported ${imported_count}, unchanged ${unchanged_count}, refused ${refused_count}`;
  const links = unlinked_count > 0 ? `, links left out ${unlinked_count}` : '';
  const lines = refused.map(({ line, error }) => `line ${line}: ${error.message}\n`);
  const more = refused_count > refused.length ? [`and ${refused_count - refused.length} more\n`] : [];
  return [`${counts}${links}\n`, ...lines, ...more].join('');
}
