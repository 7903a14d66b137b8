import { HistoryRequest, type MemoryText } from '@memoryd/contract';
import type { Environment } from '../settings/read.ts';
import { type AddCommand, type CommonFlags, withExamples, withOptions } from './command.ts';
import { SCOPE_OPTIONS, withMemories, withMemoryOptions } from './memories.ts';
import { MEMORY_ID_HELP, resolveId } from './memory-id.ts';
import { note, printJsonLines, write } from './output.ts';
import { getRequest, requestOptions } from './request-options.ts';

const SHAPE = { schema: HistoryRequest, fields: ['known_at'] } as const;

export const historyCommand: AddCommand = (program, env) => {
  const command = program
    .command('history')
    .argument('<id>', MEMORY_ID_HELP)
    .summary('Print all texts of a memory.')
    .description(
      'Print all texts of a memory in full, oldest first. The last one is current. Words that changed are marked: ' +
        '[-removed-] and {+added+}, or by color on a terminal. With --json, prints one a line.',
    );
  withOptions(command, requestOptions<HistoryRequest>(SHAPE));
  withExamples(command, 'memoryd history 893564f3', 'memoryd history 893564f3 --as-of 2026-01-31');
  withMemoryOptions(command, SCOPE_OPTIONS).action((id: string, flags: CommonFlags) => history(id, flags, env));
};

async function history(id: string, flags: CommonFlags, env: Environment): Promise<void> {
  const request = getRequest<HistoryRequest>(SHAPE, flags);
  const { eachText } = await import('@memoryd/client');
  await withMemories(flags, env, {}, async ({ api }) => {
    const texts = eachText(api, await resolveId(api, id), request);
    await (flags.json ? printJsonLines(texts) : printTexts(texts, flags));
  });
}

async function printTexts(texts: AsyncIterable<MemoryText>, flags: CommonFlags): Promise<void> {
  const { formatRevision } = await import('./text-history.ts');
  let previous: string | undefined;
  for await (const text of texts) {
    await write(formatRevision(text, previous, flags));
    previous = text.content;
  }
  if (previous === undefined) note('this memory has no texts');
}
