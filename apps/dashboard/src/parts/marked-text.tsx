/** A stored text with some of its words marked. It is text to the browser too, whatever it looks like. */
export function MarkedText({ text, words }: { text: string; words: readonly string[] }) {
  return (
    <p className="memory-text" dir="auto">
      {getPieces(text, words).map(({ piece, isMarked, at }) => (isMarked ? <mark key={at}>{piece}</mark> : piece))}
    </p>
  );
}

interface Piece {
  piece: string;
  isMarked: boolean;
  /** Where it begins in the text. */
  at: number;
}

/** Scripts that set no spaces between words. */
const UNSPACED = /^[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;

/** A text cut where words of it, written as they are there, begin and end. */
export function getPieces(text: string, words: readonly string[]): Piece[] {
  if (words.length === 0) return [{ piece: text, isMarked: false, at: 0 }];
  // Longer ones first, so that none is taken for one that it begins with.
  const patterns = words.toSorted((a, b) => b.length - a.length).map(toPattern);
  let at = 0;
  return text.split(new RegExp(`(${patterns.join('|')})`, 'u')).map((piece, i) => {
    const found = { piece, isMarked: i % 2 === 1, at };
    at += piece.length;
    return found;
  });
}

function toPattern(word: string): string {
  const escaped = word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  return UNSPACED.test(word) ? escaped : `(?<![\\p{L}\\p{N}\\p{M}])${escaped}(?![\\p{L}\\p{N}\\p{M}])`;
}
