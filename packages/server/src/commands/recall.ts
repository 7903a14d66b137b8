import { counted, RecallRequest, type RecallResponse, type RecallResult } from '@memoryd/contract';
import type { Environment } from '../settings/read.ts';
import { type AddCommand, type AnswerFlags, withOptions } from './command.ts';
import { inputText } from './input.ts';
import { SCOPE_OPTIONS, withMemories, withMemoryOptions } from './memories.ts';
import { note, print, tableFor } from './output.ts';
import { getRequest, requestOptions } from './request-options.ts';
import { shown } from './shown.ts';

const SHAPE = {
  schema: RecallRequest,
  fields: [
    ...(['top_k', 'tag', 'tier', 'session_id', 'source', 'since', 'until', 'metadata'] as const),
    ...(['min_score', 'only_relevant', 'superseded', 'timezone', 'asked_at', 'track', 'explain', 'highlight'] as const),
  ],
};

/** `memoryd recall QUERY…`. */
export const recallCommand: AddCommand = (program, env) => {
  const command = program
    .command('recall')
    .alias('search')
    .argument('<query...>', 'what to look for, in natural language; - reads it from standard input')
    .description('Find the memories that answer a query best, best first.');
  withOptions(command, requestOptions<RecallRequest>(SHAPE));
  withMemoryOptions(command, SCOPE_OPTIONS).action((words: string[], flags: AnswerFlags) =>
    recall(words.join(' '), flags, env),
  );
};

async function recall(words: string, flags: AnswerFlags, env: Environment): Promise<void> {
  const query = words === '-' ? await inputText() : words;
  const request = getRequest<RecallRequest>(SHAPE, flags, { query });
  const answer = await withMemories(flags, env, { model: true }, async ({ api, waiting }) => {
    const found = await api.recall(request);
    const left = await waiting();
    if (left > 0)
      note(`memoryd: ${counted(left, 'memory waits', 'memories wait')} for vectors, found by words alone until then`);
    return found;
  });
  await print(flags, answer, () => told(answer));
}

async function told({ results, truncated }: RecallResponse): Promise<string> {
  if (results.length === 0) return 'nothing found\n';
  const rows = results.map(({ score, id, tags, content, highlight = content }) => [
    score.toFixed(3),
    id,
    tags.join(', '),
    highlight,
  ]);
  const more = truncated ? 'There are more, which one answer does not hold.\n' : '';
  const listed = await tableFor(['SCORE', 'ID', 'TAGS', 'MEMORY'], rows);
  return listed + results.map(explained).join('') + more;
}

/** What speaks for a result and with which weight, strongest first; nothing where nobody asked. */
function explained({ id, explanation }: RecallResult): string {
  if (!explanation) return '';
  const { evidence, evidence_of_another: isOfAnother, weights } = explanation;
  const signals = Object.entries(evidence).map(([name, value]) => ({ name, value, weight: getWeight(weights, name) }));
  const told = signals
    .filter(({ value, weight }) => value * weight !== 0)
    .sort((a, b) => b.value * b.weight - a.value * a.weight)
    .map(({ name, value, weight }) => `${name} ${value.toFixed(3)} × ${weight.toFixed(2)}`);
  return `${shown(id)}${isOfAnother ? ', with the score of another' : ''}: ${told.join(', ')}\n`;
}

function getWeight(weights: Readonly<Record<string, number>>, name: string): number {
  return weights[name] ?? 0;
}
