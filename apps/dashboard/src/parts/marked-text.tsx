/** A text in which the occurrences of `words` are marked. */
export function MarkedText({ text, words }: { text: string; words: readonly string[] }) {
  return (
    <>{getPieces(text, words).map(({ piece, isMarked, at }) => (isMarked ? <mark key={at}>{piece}</mark> : piece))}</>
  );
}

interface Piece {
  piece: string;
  isMarked: boolean;
  /** Start of the piece in the text. */
  at: number;
}

/** Matches a word whose first character is in a script without spaces between words. */
const UNSPACED = /^[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;

/**
 * Splits a text at the occurrences of `words`, which are case-sensitive. In scripts with spaces, part of a longer word
 * is not an occurrence. The joined pieces are equal to the text.
 */
export function getPieces(text: string, words: readonly string[]): Piece[] {
  if (words.length === 0) return [{ piece: text, isMarked: false, at: 0 }];
  // Longer words first, because a word may be the beginning of another word.
  const patterns = words.toSorted((a, b) => b.length - a.length).map(toPattern);
  let at = 0;
  return text.split(new RegExp(`(${patterns.join('|')})`, 'u')).map((piece, i) => {
    const result = { piece, isMarked: i % 2 === 1, at };
    at += piece.length;
    return result;
  });
}

function toPattern(word: string): string {
  const escaped = word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  return UNSPACED.test(word) ? escaped : `(?<![\\p{L}\\p{N}\\p{M}])${escaped}(?![\\p{L}\\p{N}\\p{M}])`;
}
