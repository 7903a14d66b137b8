import { diffWordsWithSpace } from 'diff';
import { useMemo } from 'react';

/** Longest texts that are compared word by word; the time grows with the product of their differences. */
const MAX_COMPARED = 20_000;

/** What became of a text: what left it struck out, what came underlined. */
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
  if (before.length + after.length > MAX_COMPARED) {
    return [
      { value: before, removed: true, added: false, at: 0 },
      { value: after, removed: false, added: true, at: 1 },
    ];
  }
  return diffWordsWithSpace(before, after).map(({ value, added, removed }, at) => ({ value, added, removed, at }));
}
