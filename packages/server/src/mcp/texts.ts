import type { RecallResult } from '@memoryd/contract';
import { memoryUri } from './uris.ts';

/** Characters of one memory that a text for a model shows. */
const MAX_SHOWN_CHARS = 4000;

/** A memory as a model reads it: a line of facts, and the content, cut where it is long. */
export function memoryText(facts: readonly string[], { id, content }: { id: string; content: string }): string {
  return `${[...facts, `id ${id}`].join(' · ')}\n${shown(id, content)}`;
}

/** The results of a recall, best first. */
export function resultsText(results: readonly RecallResult[]): string {
  return results
    .map((result, index) => {
      const facts = [`${index + 1}. score ${result.score.toFixed(2)}`];
      if (result.tags.length > 0) facts.push(`tags ${result.tags.join(', ')}`);
      if (result.superseded_by) facts.push(`outdated, corrected by ${result.superseded_by}`);
      return memoryText(facts, result);
    })
    .join('\n\n');
}

/** A number of things, such as "1 memory" or "2 memories". */
export function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}

function shown(id: string, content: string): string {
  if (content.length <= MAX_SHOWN_CHARS) return content;
  // Not within a character of two code units.
  const start = content.slice(0, MAX_SHOWN_CHARS).replace(/[\uD800-\uDBFF]$/, '');
  return `${start} … (${content.length - start.length} more characters in ${memoryUri(id)})`;
}
