import { ExportRequest } from '@memoryd/contract';
import type { Environment } from '../settings/read.ts';
import { type AddCommand, type CommonFlags, withExamples, withOptions } from './command.ts';
import { MEMORY_OPTIONS, SCOPE_OPTIONS, withMemories } from './memories.ts';
import { writeNewFile } from './new-file.ts';
import { write } from './output.ts';
import { interruptible, showProgress } from './progress.ts';
import { getRequest, requestOptions, VALIDITY_FIELDS } from './request-options.ts';

const SHAPE = { schema: ExportRequest, fields: ['filter', ...VALIDITY_FIELDS] } as const;

export const exportCommand: AddCommand = (program, env) => {
  const command = program
    .command('export')
    .argument('[file]', 'new file, or - for standard output; an existing file is not overwritten', '-')
    .summary('Write memories to a file.')
    .description('Write the memories of a namespace, user or agent as JSON, one a line, with their history and links.');
  withExamples(command, 'memoryd export memories.ndjson', 'memoryd export --user ada > ada.ndjson');
  withOptions(command, [...requestOptions<ExportRequest>(SHAPE), ...MEMORY_OPTIONS, ...SCOPE_OPTIONS]).action(
    (file: string, flags: CommonFlags) => exportTo(file, flags, env),
  );
};

async function exportTo(file: string, flags: CommonFlags, env: Environment): Promise<void> {
  const request = getRequest<ExportRequest>(SHAPE, flags);
  await interruptible((signal) =>
    withMemories(flags, env, {}, async ({ api }) => {
      const lines = withEnds(api.exportMemories(request, signal));
      return file === '-' ? writeEach(lines, signal) : writeNewFile(file, lines, signal);
    }),
  );
}

async function writeEach(lines: AsyncIterable<string>, signal: AbortSignal): Promise<void> {
  for await (const line of lines) await write(line, signal);
}

/** Appends a line feed to each line, and shows the progress. */
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
