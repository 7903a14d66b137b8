import { DEFAULTS } from '../limits.ts';
import type { RecallResult } from '../recall.ts';

/** Characters of one memory that a text shows where the rest can be read elsewhere. */
const MAX_SHOWN_CHARS = 4000;

/** Where a memory can be read whole, such as the address of a resource. */
export type WholeAt = (memoryId: string) => string;

/**
 * A memory as a model reads it: a line of facts, and the highlight if there is one, else the content.
 *
 * @param wholeAt where long contents, which are then cut, can be read whole; all is shown where absent
 */
export function memoryText(
  facts: readonly string[],
  { id, content, highlight }: { id: string; content: string; highlight?: string },
  wholeAt?: WholeAt,
): string {
  const text =
    highlight === undefined ? shown(content, wholeAt?.(id)) : shownPart(highlight, content.length, wholeAt?.(id));
  return `${[...facts, `id ${id}`].join(' · ')}\n${text}`;
}

/** The results of a recall, best first. */
export function resultsText(results: readonly RecallResult[], wholeAt?: WholeAt): string {
  return results
    .map((result, index) => {
      const facts = [`${index + 1}. score ${result.score.toFixed(2)}`, momentText(result.created_at)];
      if (result.session_id !== null && result.session_id !== DEFAULTS.sessionId)
        facts.push(`session ${result.session_id}`);
      if (result.tags.length > 0) facts.push(`tags ${result.tags.join(', ')}`);
      if (result.superseded_by) facts.push(`outdated, corrected by ${result.superseded_by}`);
      return memoryText(facts, result, wholeAt);
    })
    .join('\n\n');
}

/** A time to the minute, such as "2026-05-07 14:30 UTC". */
function momentText(timestamp: string): string {
  return `${timestamp.slice(0, 16).replace('T', ' ')} UTC`;
}

function shown(content: string, whole: string | undefined): string {
  if (whole === undefined || content.length <= MAX_SHOWN_CHARS) return content;
  // Not within a character of two code units.
  const start = content.slice(0, MAX_SHOWN_CHARS).replace(/[\uD800-\uDBFF]$/, '');
  return `${start} … (${content.length - start.length} more characters in ${whole})`;
}

function shownPart(part: string, chars: number, whole: string | undefined): string {
  if (part.length === chars) return part;
  return `${part} (part of ${chars} characters${whole === undefined ? '' : ` in ${whole}`})`;
}
