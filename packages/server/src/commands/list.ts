import { MemoriesRequest, type MemoriesResponse, type Memory } from '@memoryd/contract';
import type { Environment } from '../settings/read.ts';
import { type AddCommand, type AnswerFlags, withOptions } from './command.ts';
import { SCOPE_OPTIONS, withMemories, withMemoryOptions } from './memories.ts';
import { note, print, tableFor } from './output.ts';
import { getRequest, requestOptions } from './request-options.ts';

const SHAPE = {
  schema: MemoriesRequest,
  fields: [
    ...(['tag', 'tier', 'session_id', 'source', 'since', 'until', 'metadata'] as const),
    ...(['limit', 'cursor'] as const),
  ],
};

/** `memoryd list`. */
export const listCommand: AddCommand = (program, env) => {
  const command = program
    .command('list')
    .alias('ls')
    .description(
      'List memories, newest first: those that every given option selects. As JSON, the page is one document.',
    );
  withOptions(command, requestOptions<MemoriesRequest>(SHAPE));
  withMemoryOptions(command, SCOPE_OPTIONS).action((flags: AnswerFlags) => list(flags, env));
};

async function list(flags: AnswerFlags, env: Environment): Promise<void> {
  const request = getRequest<MemoriesRequest>(SHAPE, flags);
  const page = await withMemories(flags, env, {}, ({ api }) => api.memories(request));
  await print(flags, page, () => asTable(page));
  if (flags.json) return;
  if (page.memories.length === 0) note('no memories found');
  if (page.next_cursor !== undefined) note(`${page.total} in all; --cursor ${page.next_cursor} lists the next page`);
}

async function asTable({ memories }: MemoriesResponse): Promise<string> {
  return memories.length === 0
    ? ''
    : tableFor(['WHEN', 'ID', 'USER', 'AGENT', 'TIER', 'TAGS', 'MEMORY'], memories.map(toRow));
}

function toRow({ created_at, id, user_id: user = '-', agent_id: agent = '-', tier, tags, content }: Memory): string[] {
  return [created_at, id, user, agent, tier, tags.join(', '), content];
}
