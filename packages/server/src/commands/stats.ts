import type { StatsResponse } from '@memoryd/contract';
import type { Environment } from '../settings/read.ts';
import type { AddCommand, CommonFlags } from './command.ts';
import { toShortTime } from './local-time.ts';
import { SCOPE_OPTIONS, withMemories, withMemoryOptions } from './memories.ts';
import { formatTable, print } from './output.ts';

export const statsCommand: AddCommand = (program, env) => {
  const command = program
    .command('stats')
    .summary('Count memories.')
    .description('Count memories by tier and by whether they hold, and print the size and the last consolidation.');
  withMemoryOptions(command, SCOPE_OPTIONS).action((flags: CommonFlags) => stats(flags, env));
};

async function stats(flags: CommonFlags, env: Environment): Promise<void> {
  const counts = await withMemories(flags, env, {}, ({ api }) => api.stats());
  await print(flags, counts, () => formatTable(['STATISTIC', 'VALUE'], getRows(counts, flags)));
}

function getRows(counts: StatsResponse, flags: CommonFlags): [string, string | number][] {
  const { embedding } = counts;
  return [
    ['working memories', counts.working_count],
    ['episodic memories', counts.episodic_count],
    ['semantic memories', counts.semantic_count],
    ['current memories', counts.current_count],
    ['superseded memories', counts.superseded_count],
    ['ended memories', counts.ended_count],
    ['size in MB', counts.db_size_mb],
    ['last consolidation', counts.last_sleep_at === null ? 'never' : toShortTime(counts.last_sleep_at, flags)],
    ['pending vectors', counts.pending_embeddings],
    ...(embedding
      ? ([
          ['model', embedding.model],
          ['embedded by it', `${embedding.embedded} of ${embedding.total}`],
        ] as [string, string][])
      : []),
  ];
}
