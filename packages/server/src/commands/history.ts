import { HistoryRequest, type MemoryText } from '@memoryd/contract';
import type { Environment } from '../settings/read.ts';
import { type AddCommand, type CommonFlags, withExamples, withOptions } from './command.ts';
import { SCOPE_OPTIONS, withMemories, withMemoryOptions } from './memories.ts';
import { MEMORY_ID_HELP, resolveId } from './memory-id.ts';
import { asTable, printEach } from './output.ts';
import { getRequest, requestOptions } from './request-options.ts';

const SHAPE = { schema: HistoryRequest, fields: ['as_of'] } as const;

export const historyCommand: AddCommand = (program, env) => {
  const command = program
    .command('history')
    .argument('<id>', MEMORY_ID_HELP)
    .summary('Print all texts of a memory.')
    .description('Print all texts of a memory, oldest first. The last one is current. With --json, prints one a line.');
  withOptions(command, requestOptions<HistoryRequest>(SHAPE));
  withExamples(command, 'memoryd history 893564f3', 'memoryd history 893564f3 --as-of 2026-01-31');
  withMemoryOptions(command, SCOPE_OPTIONS).action((id: string, flags: CommonFlags) => history(id, flags, env));
};

const TEXTS = {
  format: asTable(['REVISION', 'FROM', 'UNTIL', 'TEXT'], ({ revision, held_from, held_until, content }: MemoryText) => [
    revision,
    held_from,
    held_until ?? 'now',
    content,
  ]),
  none: 'this memory has no texts',
};

async function history(id: string, flags: CommonFlags, env: Environment): Promise<void> {
  const request = getRequest<HistoryRequest>(SHAPE, flags);
  const { eachText } = await import('@memoryd/client');
  await withMemories(flags, env, {}, async ({ api }) =>
    printEach(flags, eachText(api, await resolveId(api, id), request), TEXTS),
  );
}
