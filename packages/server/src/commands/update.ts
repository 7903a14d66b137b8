import { UpdateRequest } from '@memoryd/contract';
import type { Environment } from '../settings/read.ts';
import { type AddCommand, type AnswerFlags, withOptions } from './command.ts';
import { inputText } from './input.ts';
import { OWN_SCOPE_OPTIONS, withMemories, withMemoryOptions } from './memories.ts';
import { print } from './output.ts';
import { getRequest, requestOptions } from './request-options.ts';

const SHAPE = {
  schema: UpdateRequest,
  fields: ['content', 'importance', 'tags', 'metadata', 'expires_at'],
} as const;

/** `memoryd update ID`. */
export const updateCommand: AddCommand = (program, env) => {
  const command = program
    .command('update')
    .argument('<id>', 'the memory')
    .description(
      'Change a memory; what is left out stays. Its earlier text is kept. --content - reads standard input.',
    );
  withOptions(command, requestOptions<UpdateRequest>(SHAPE));
  withMemoryOptions(command, OWN_SCOPE_OPTIONS).action((id: string, flags: AnswerFlags) => update(id, flags, env));
};

async function update(id: string, flags: AnswerFlags, env: Environment): Promise<void> {
  const content = flags.content === '-' ? { content: await inputText() } : {};
  const request = getRequest<UpdateRequest>(SHAPE, flags, content);
  const updated = await withMemories(flags, env, { model: true }, ({ api }) => api.update(id, request));
  await print(flags, updated, () => `updated ${updated.id}\n`);
}
