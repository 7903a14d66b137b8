import { useMemo } from 'preact/compat';
import { diffWords, getSide } from './word-diff.ts';

interface TextDiffProps {
  before: string;
  after: string;
  /** Shows only this text, with the words marked that the other text does not have. */
  side?: 'before' | 'after';
}

/** The changes of a text: removed words struck out, added words underlined. */
export function TextDiff({ before, after, side }: TextDiffProps) {
  const pieces = useMemo(() => {
    const both = diffWords(before, after);
    return (side ? getSide(both, side) : both).map((piece, at) => ({ ...piece, at }));
  }, [before, after, side]);
  return (
    <p className="memory-text" dir="auto">
      {pieces.map(({ text, state, at }) => {
        if (state === 'added') return <ins key={at}>{text}</ins>;
        return state === 'removed' ? <del key={at}>{text}</del> : text;
      })}
    </p>
  );
}
