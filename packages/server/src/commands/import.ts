import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { type ImportResponse, LIMITS, linesOf } from '@memoryd/contract';
import { type AddCommand, withOptions } from './command.ts';
import { DATABASE_OPTIONS, type DatabaseFlags, NAMESPACE_OPTION, withMemories } from './database.ts';
import { showProgress } from './progress.ts';

/** `memoryd import [FILE]`: exit code 1 where a line was refused. */
export const importCommand: AddCommand = (program, env) => {
  const command = program
    .command('import')
    .argument('[file]', 'an export, - for standard input', '-')
    .option('--json', 'print what became of it as JSON')
    .description('Keep what was exported; ends with 1 where a line was refused. It may be done again to go on.');
  withOptions(command, [...DATABASE_OPTIONS, NAMESPACE_OPTION]).action(
    async (file: string, flags: DatabaseFlags & { namespace: string; json?: true }) => {
      const sizeBytes = file === '-' ? 0 : (await stat(file)).size;
      const pieces = file === '-' ? process.stdin : createReadStream(file);
      const answer = await withMemories({ flags, env, namespace: flags.namespace }, (api) =>
        api.importMemories(linesOf(watched(pieces, sizeBytes), LIMITS.exportLineBytes)),
      );
      process.stdout.write(flags.json ? `${JSON.stringify(answer)}\n` : told(answer));
      if (answer.refused_count > 0) process.exitCode = 1;
    },
  );
};

async function* watched(pieces: Readable, sizeBytes: number): AsyncIterable<Uint8Array> {
  const progress = showProgress('importing');
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
