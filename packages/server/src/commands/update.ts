import { UpdateRequest } from '@memoryd/contract';
import type { Environment } from '../settings/read.ts';
import { type AddCommand, type CommonFlags, withExamples, withOptions } from './command.ts';
import { inputText } from './input.ts';
import { OWN_SCOPE_OPTIONS, withMemories, withMemoryOptions } from './memories.ts';
import { MEMORY_ID_HELP, resolveId, withWholeIds } from './memory-id.ts';
import { print } from './output.ts';
import { getRequest, requestOptions } from './request-options.ts';

const SHAPE = {
  schema: UpdateRequest,
  fields: ['content', 'importance', 'tags', 'metadata', 'expires_at', 'valid_from', 'valid_to', 'supersedes'],
} as const;

export const updateCommand: AddCommand = (program, env) => {
  const command = program
    .command('update')
    .argument('<id>', MEMORY_ID_HELP)
    .summary('Change a memory.')
    .description(
      'Change a memory. Fields without an option stay. Its earlier texts stay in its history. The value null clears a ' +
        'time or a link. --content - reads standard input.',
    );
  withOptions(command, requestOptions<UpdateRequest>(SHAPE));
  withExamples(
    command,
    "memoryd update 893564f3 --content 'Ada likes peanuts again'",
    'memoryd update 893564f3 --tag food --importance 0.9',
    'memoryd update 893564f3 --valid-to 2026-01-31',
  );
  withMemoryOptions(command, OWN_SCOPE_OPTIONS).action((id: string, flags: CommonFlags) => update(id, flags, env));
};

async function update(id: string, flags: CommonFlags, env: Environment): Promise<void> {
  const content = flags.content === '-' ? { content: await inputText() } : {};
  const request = getRequest<UpdateRequest>(SHAPE, flags, content);
  const updated = await withMemories(flags, env, { model: true }, async ({ api }) =>
    api.update(await resolveId(api, id), await withWholeIds(api, request)),
  );
  await print(flags, updated, () => `updated ${updated.id}\n`);
}
