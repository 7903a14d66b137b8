import { DEFAULTS } from '../limits.ts';
import type { RecallResult } from '../recall.ts';

/** Maximum length of one memory's text, in UTF-16 code units, if the full text can be read elsewhere. */
const MAX_SHOWN_CHARS = 4000;

/** Returns where the full text of a memory can be read, such as a resource URI. */
export type WholeAt = (memoryId: string) => string;

/**
 * Formats a memory for a model: a line of facts, then the highlight if present, otherwise the content.
 *
 * @param wholeAt where the full text of truncated contents can be read; nothing is truncated if absent
 */
export function memoryText(
  facts: readonly string[],
  { id, content, highlight }: { id: string; content: string; highlight?: string },
  wholeAt?: WholeAt,
): string {
  const text =
    highlight === undefined
      ? truncateContent(content, wholeAt?.(id))
      : formatHighlight(highlight, content.length, wholeAt?.(id));
  return `${[...facts, `id ${id}`].join(' · ')}\n${text}`;
}

/** Formats recall results for a model. */
export function resultsText(results: readonly RecallResult[], wholeAt?: WholeAt): string {
  return results
    .map((result, index) => {
      const facts = [`${index + 1}. score ${result.score.toFixed(2)}`, formatTime(result.created_at)];
      if (result.session_id !== null && result.session_id !== DEFAULTS.sessionId)
        facts.push(`session ${result.session_id}`);
      if (result.tags.length > 0) facts.push(`tags ${result.tags.join(', ')}`);
      if (result.superseded_by) facts.push(`outdated, corrected by ${result.superseded_by}`);
      return memoryText(facts, result, wholeAt);
    })
    .join('\n\n');
}

/** Formats a time with minute precision, such as "2026-05-07 14:30 UTC". */
function formatTime(timestamp: string): string {
  return `${timestamp.slice(0, 16).replace('T', ' ')} UTC`;
}

function truncateContent(content: string, whole: string | undefined): string {
  if (whole === undefined || content.length <= MAX_SHOWN_CHARS) return content;
  // Do not split a surrogate pair.
  const start = content.slice(0, MAX_SHOWN_CHARS).replace(/[\uD800-\uDBFF]$/, '');
  return `${start} … (${content.length - start.length} more characters in ${whole})`;
}

function formatHighlight(part: string, chars: number, whole: string | undefined): string {
  if (part.length === chars) return part;
  return `${part} (part of ${chars} characters${whole === undefined ? '' : ` in ${whole}`})`;
}
