import { styleText } from 'node:util';
import type { MemoryText } from '@memoryd/contract';
import { diffArrays } from 'diff';
import { type TimeFlags, toShortTime } from './local-time.ts';
import { toPrintableLines } from './printable.ts';

/** Limits of a comparison. Texts that differ in more words, or take longer, are shown without marks. */
const MAX_CHANGED_WORDS = 4000;
const MAX_COMPARISON_MS = 2000;

const INDENT = '    ';

const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });

/**
 * Formats one text of a memory for the terminal: a headline with the revision and its period, then the whole text,
 * indented. Marks the words that have changed since the previous text.
 */
export function formatRevision(
  { revision, held_from, held_until, content }: MemoryText,
  previous: string | undefined,
  flags: TimeFlags,
): string {
  const until = held_until === null ? 'now' : toShortTime(held_until, flags);
  const headline = `revision ${revision}  ${toShortTime(held_from, flags)} to ${until}`;
  const marked = previous === undefined ? undefined : markChanges(previous, content);
  const isUnmarked = previous !== undefined && marked === undefined;
  const lines = (marked ?? toPrintableLines(content)).split('\n').map((line) => (INDENT + line).trimEnd());
  const note = isUnmarked ? '  (too many changes to mark)' : '';
  return `${styleText('bold', headline)}${note}\n${lines.join('\n')}\n`;
}

/** Returns a text with its changes against the previous text; undefined if the texts differ too much. */
function markChanges(previous: string, content: string): string | undefined {
  const limits = { maxEditLength: MAX_CHANGED_WORDS, timeout: MAX_COMPARISON_MS };
  const changes = diffArrays(getWords(previous), getWords(content), limits);
  return changes
    ?.map(({ added, removed, value }) => {
      const text = toPrintableLines(value.join(''));
      if (added) return mark(text, '{+', '+}', 'green');
      return removed ? mark(text, '[-', '-]', 'red') : text;
    })
    .join('');
}

/** Marks a text by color if standard output supports colors, else by brackets. */
function mark(text: string, open: string, close: string, color: 'green' | 'red'): string {
  const styled = styleText(color === 'red' ? ['red', 'strikethrough'] : color, text);
  return styled === text ? open + text + close : styled;
}

/** Splits a text into words, and what is between words, also in languages without spaces. */
function getWords(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}
