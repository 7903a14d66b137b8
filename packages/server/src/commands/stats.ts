import type { StatsResponse } from '@memoryd/contract';
import type { Environment } from '../settings/read.ts';
import type { AddCommand, AnswerFlags } from './command.ts';
import { SCOPE_OPTIONS, withMemories, withMemoryOptions } from './memories.ts';
import { print, tableFor } from './output.ts';

/** `memoryd stats`. */
export const statsCommand: AddCommand = (program, env) => {
  const command = program.command('stats').description('Count memories by tier, and tell the size and the last sleep.');
  withMemoryOptions(command, SCOPE_OPTIONS).action((flags: AnswerFlags) => stats(flags, env));
};

async function stats(flags: AnswerFlags, env: Environment): Promise<void> {
  const answer = await withMemories(flags, env, {}, ({ api }) => api.stats());
  await print(flags, answer, () => tableFor(['WHAT', 'VALUE'], getRows(answer)));
}

function getRows(answer: StatsResponse): [string, string | number][] {
  const { embedding } = answer;
  return [
    ['working memories', answer.working_count],
    ['episodic memories', answer.episodic_count],
    ['semantic memories', answer.semantic_count],
    ['size in MB', answer.db_size_mb],
    ['last consolidation', answer.last_sleep_at ?? 'never'],
    ['waiting for vectors', answer.pending_embeddings],
    ...(embedding
      ? ([
          ['model', embedding.model],
          ['with its vectors', `${embedding.embedded} of ${embedding.total}`],
        ] as [string, string][])
      : []),
  ];
}
