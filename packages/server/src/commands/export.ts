import { createWriteStream } from 'node:fs';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { placeFile } from '@memoryd/engine';
import { type AddCommand, withOptions } from './command.ts';
import { DATABASE_OPTIONS, type DatabaseFlags, existingDatabase, NAMESPACE_OPTION, withMemories } from './database.ts';
import { interruptible, showProgress } from './progress.ts';

/** `memoryd export [FILE]`. */
export const exportCommand: AddCommand = (program, env) => {
  const command = program
    .command('export')
    .argument('[file]', 'where it goes, - for standard output; a file that exists is not overwritten', '-')
    .description('Write every memory of a namespace, with its history and links, one a line.');
  withOptions(command, [...DATABASE_OPTIONS, NAMESPACE_OPTION]).action(
    async (file: string, flags: DatabaseFlags & { namespace: string }) => {
      existingDatabase(flags, env);
      await interruptible((signal) =>
        withMemories({ flags, env, namespace: flags.namespace }, (api) => {
          const lines = api.exportMemories(signal);
          if (file === '-') return pipeline(withEnds(lines), process.stdout, { end: false, signal });
          return placeFile(resolve(file), (to) =>
            pipeline(withEnds(lines), createWriteStream(to, { flags: 'wx', mode: 0o600, flush: true }), { signal }),
          );
        }),
      );
    },
  );
};

/** Lines with their ends; tells how far they have come. */
async function* withEnds(lines: AsyncIterable<string>): AsyncIterable<string> {
  const progress = showProgress('exporting');
  let count = 0;
  let total = 0;
  try {
    for await (const line of lines) {
      if (count === 0) total = (JSON.parse(line) as { lines: number }).lines;
      else progress.show(count, total);
      count++;
      yield `${line}\n`;
    }
  } finally {
    progress.end();
  }
}
