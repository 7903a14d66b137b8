import { HistoryRequest, type MemoryText } from '@memoryd/contract';
import type { Environment } from '../settings/read.ts';
import { type AddCommand, type AnswerFlags, withOptions } from './command.ts';
import { SCOPE_OPTIONS, withMemories, withMemoryOptions } from './memories.ts';
import { printEach } from './output.ts';
import { getRequest, requestOptions } from './request-options.ts';

const SHAPE = { schema: HistoryRequest, fields: ['as_of'] } as const;

/** `memoryd history ID`. */
export const historyCommand: AddCommand = (program, env) => {
  const command = program
    .command('history')
    .argument('<id>', 'the memory')
    .description(
      'Print the texts that a memory has had, oldest first; the last is the present one. As JSON, one a line.',
    );
  withOptions(command, requestOptions<HistoryRequest>(SHAPE));
  withMemoryOptions(command, SCOPE_OPTIONS).action((id: string, flags: AnswerFlags) => history(id, flags, env));
};

const TEXTS = {
  titles: ['REVISION', 'FROM', 'UNTIL', 'TEXT'],
  row: ({ revision, held_from, held_until, content }: MemoryText) => [
    revision,
    held_from,
    held_until ?? 'now',
    content,
  ],
  none: 'this memory has had no text',
};

async function history(id: string, flags: AnswerFlags, env: Environment): Promise<void> {
  const request = getRequest<HistoryRequest>(SHAPE, flags);
  const { eachText } = await import('@memoryd/client');
  await withMemories(flags, env, {}, ({ api }) => printEach(flags, eachText(api, id, request), TEXTS));
}
