import type { Environment } from '../settings/read.ts';
import { type AddCommand, type AnswerFlags, withOptions } from './command.ts';
import { MEMORY_OPTIONS, SCOPE_OPTIONS, withMemories } from './memories.ts';
import { writeNewFile } from './new-file.ts';
import { write } from './output.ts';
import { interruptible, showProgress } from './progress.ts';

/** `memoryd export [FILE]`. */
export const exportCommand: AddCommand = (program, env) => {
  const command = program
    .command('export')
    .argument('[file]', 'where it goes, - for standard output; a file that exists is not overwritten', '-')
    .description('Write every memory of a namespace, or of a user or agent, with its history and links, one a line.');
  withOptions(command, [...MEMORY_OPTIONS, ...SCOPE_OPTIONS]).action((file: string, flags: AnswerFlags) =>
    exportTo(file, flags, env),
  );
};

async function exportTo(file: string, flags: AnswerFlags, env: Environment): Promise<void> {
  await interruptible((signal) =>
    withMemories(flags, env, {}, async ({ api }) => {
      const lines = withEnds(api.exportMemories({}, signal));
      return file === '-' ? writeEach(lines, signal) : writeNewFile(file, lines, signal);
    }),
  );
}

async function writeEach(lines: AsyncIterable<string>, signal: AbortSignal): Promise<void> {
  for await (const line of lines) await write(line, signal);
}

/** Lines with their ends; tells how far they have come. */
async function* withEnds(lines: AsyncIterable<string>): AsyncIterable<string> {
  const progress = await showProgress('exporting', 'memory', 'memories');
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
