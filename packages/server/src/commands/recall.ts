import {
  formatCount,
  getProcessTimeZone,
  RecallRequest,
  type RecallResponse,
  type RecallResult,
} from '@memoryd/contract';
import type { Environment } from '../settings/read.ts';
import { type AddCommand, type CommonFlags, FULL_OPTION, IDS_OPTION, withExamples, withOptions } from './command.ts';
import { inputText } from './input.ts';
import { SCOPE_OPTIONS, withMemories, withMemoryOptions } from './memories.ts';
import { asMemories, note, print } from './output.ts';
import { getRequest, requestOptions, VALIDITY_FIELDS } from './request-options.ts';

const SHAPE = {
  schema: RecallRequest,
  fields: [
    ...([
      'top_k',
      'tag',
      'tier',
      'session_id',
      'source',
      'external_id',
      'since',
      'until',
      'metadata',
      'filter',
    ] as const),
    ...VALIDITY_FIELDS,
    ...(['min_score', 'only_relevant', 'superseded', 'timezone', 'asked_at', 'track', 'explain', 'highlight'] as const),
  ],
};

export const recallCommand: AddCommand = (program, env) => {
  const command = program
    .command('recall')
    .alias('search')
    .argument('<query...>', 'question or words in natural language; - reads them from standard input')
    .summary('Find the memories that answer a query.')
    .description(
      'Find the memories that answer a query best, best first. Each score has a word: likely (.5 and higher), possible ' +
        '(.25 and higher) or weak. Ids are shortened to their last characters, which other commands accept.',
    );
  withOptions(command, [...requestOptions<RecallRequest>(SHAPE), IDS_OPTION, FULL_OPTION]);
  withExamples(
    command,
    "memoryd recall --user ada 'Can Ada eat peanut butter?'",
    'memoryd recall --user ada peanuts --only-relevant',
    'memoryd recall trains --as-of 2026-01-31 --json',
  );
  withMemoryOptions(command, SCOPE_OPTIONS).action((words: string[], flags: CommonFlags) =>
    recall(words.join(' '), flags, env),
  );
};

async function recall(words: string, flags: CommonFlags, env: Environment): Promise<void> {
  const query = words === '-' ? await inputText() : words;
  // A person who types "yesterday" means the local day.
  const timezone = flags.timezone ?? (flags.utc ? 'UTC' : getProcessTimeZone());
  const request = getRequest<RecallRequest>(SHAPE, flags, { query, timezone });
  const response = await withMemories(flags, env, { model: true }, async ({ api, countPending }) => {
    const recalled = await api.recall(request);
    const pending = await countPending();
    if (pending > 0)
      note(
        `memoryd: ${formatCount(pending, 'memory has', 'memories have')} no vectors yet and can be found by words only`,
      );
    return recalled;
  });
  await print(flags, response, () => format(response, flags));
}

async function format({ results, truncated }: RecallResponse, flags: CommonFlags): Promise<string> {
  if (results.length === 0) return 'nothing found\n';
  const listed = await asMemories(flags)(
    results.map((result) => ({ ...result, content: result.highlight ?? result.content, ...explain(result) })),
  );
  return listed + (truncated ? 'There are more results than one response can hold.\n' : '');
}

/**
 * Formats the explanation of a score as a note: the evidence and weight of each signal that contributes to the score,
 * strongest signal first.
 */
function explain({ explanation }: RecallResult): { note?: string } {
  if (!explanation) return {};
  const { evidence, evidence_of_another: isInherited, weights } = explanation;
  const signals = Object.entries(evidence).map(([name, value]) => ({ name, value, weight: getWeight(weights, name) }));
  const terms = signals
    .filter(({ value, weight }) => value * weight !== 0)
    .sort((a, b) => b.value * b.weight - a.value * a.weight)
    .map(({ name, value, weight }) => `${name} ${value.toFixed(3)} × ${weight.toFixed(2)}`);
  return { note: `${isInherited ? 'score of another memory: ' : ''}${terms.join(', ')}` };
}

function getWeight(weights: Readonly<Record<string, number>>, name: string): number {
  return weights[name] ?? 0;
}
