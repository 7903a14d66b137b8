import { MemoriesRequest } from '@memoryd/contract';
import type { Environment } from '../settings/read.ts';
import { type AddCommand, type CommonFlags, FULL_OPTION, IDS_OPTION, withExamples, withOptions } from './command.ts';
import { SCOPE_OPTIONS, withMemories, withMemoryOptions } from './memories.ts';
import { asMemories, note, print } from './output.ts';
import { getRequest, requestOptions, VALIDITY_FIELDS } from './request-options.ts';

const SHAPE = {
  schema: MemoriesRequest,
  fields: [
    ...(['tag', 'tier', 'session_id', 'source', 'external_id', 'since', 'until', 'metadata', 'filter'] as const),
    ...VALIDITY_FIELDS,
    ...(['limit', 'cursor'] as const),
  ],
};

export const listCommand: AddCommand = (program, env) => {
  const command = program
    .command('list')
    .alias('ls')
    .summary('List memories, newest first.')
    .description(
      'List the memories that all given options select, newest first, with the times from and until which they hold and ' +
        'what replaced them. With --json, prints one page.',
    );
  withOptions(command, [...requestOptions<MemoriesRequest>(SHAPE), IDS_OPTION, FULL_OPTION]);
  withExamples(
    command,
    'memoryd list --limit 10',
    'memoryd list --tag food --current',
    `memoryd list --filter '{"tag": {"$prefix": "food"}}'`,
  );
  withMemoryOptions(command, SCOPE_OPTIONS).action((flags: CommonFlags) => list(flags, env));
};

async function list(flags: CommonFlags, env: Environment): Promise<void> {
  const request = getRequest<MemoriesRequest>(SHAPE, flags);
  const page = await withMemories(flags, env, {}, ({ api }) => api.memories(request));
  await print(flags, page, () => asMemories(flags)(page.memories));
  if (flags.json) return;
  if (page.memories.length === 0) note('no memories found');
  if (page.next_cursor !== undefined) note(`${page.total} in total; --cursor ${page.next_cursor} lists the next page`);
}
