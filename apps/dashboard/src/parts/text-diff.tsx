import { diffWordsWithSpace } from 'diff';
import { useMemo } from 'preact/compat';

/**
 * Maximum total characters of two texts for a word diff, whose time grows quadratically. Longer texts are shown as one
 * removed and one added text.
 */
const MAX_COMPARED_CHARS = 20_000;

/** The changes of a text: removed words struck out, added words underlined. */
export function TextDiff({ before, after }: { before: string; after: string }) {
  const pieces = useMemo(() => getChanges(before, after), [before, after]);
  return (
    <p className="memory-text" dir="auto">
      {pieces.map(({ value, added, removed, at }) => {
        if (added) return <ins key={at}>{value}</ins>;
        if (removed) return <del key={at}>{value}</del>;
        return value;
      })}
    </p>
  );
}

interface Piece {
  value: string;
  added: boolean;
  removed: boolean;
  at: number;
}

function getChanges(before: string, after: string): Piece[] {
  if (before.length + after.length > MAX_COMPARED_CHARS) {
    return [
      { value: before, removed: true, added: false, at: 0 },
      { value: after, removed: false, added: true, at: 1 },
    ];
  }
  return diffWordsWithSpace(before, after).map(({ value, added, removed }, at) => ({ value, added, removed, at }));
}
