/** A part of a text, with the same state. */
export interface Piece {
  text: string;
  state: 'same' | 'removed' | 'added';
}

/**
 * Maximum product of the numbers of compared words, in which time and memory grow. Words in which longer texts differ are
 * one removed and one added part.
 */
const MAX_COMPARED = 4_000_000;

/** Returns the words that an edit of a text has removed and added, and those between them, with as few changes as possible. */
export function diffWords(before: string, after: string): Piece[] {
  const [old, current] = [getWords(before), getWords(after)];
  const shortest = Math.min(old.length, current.length);
  let start = 0;
  while (start < shortest && old[start] === current[start]) start++;
  let end = 0;
  while (end < shortest - start && old.at(-1 - end) === current.at(-1 - end)) end++;
  const middle = compare(old.slice(start, old.length - end), current.slice(start, current.length - end));
  const pieces = [toPiece('same', old.slice(0, start)), ...middle, toPiece('same', old.slice(old.length - end))];
  return pieces.filter(({ text }) => text !== '');
}

/**
 * Returns the pieces of only one of the two texts. Neighboring words that the other text does not have are one piece,
 * which does not begin or end with a space.
 */
export function getSide(pieces: readonly Piece[], side: 'before' | 'after'): Piece[] {
  const [marked, hidden] = side === 'before' ? (['removed', 'added'] as const) : (['added', 'removed'] as const);
  const joined: Piece[] = [];
  const add = (state: Piece['state'], text: string) => {
    const [last, beforeLast] = [joined.at(-1), joined.at(-2)];
    if (text === '') return;
    if (last?.state === state) last.text += text;
    else if (state === marked && beforeLast && last && last.text.trim() === '') {
      beforeLast.text += last.text + text;
      joined.pop();
    } else joined.push({ state, text });
  };
  for (const { state, text } of pieces) {
    if (state === hidden) continue;
    const words = text.trim();
    const start = text.length - text.trimStart().length;
    if (state === 'same' || words === '') add('same', text);
    else {
      add('same', text.slice(0, start));
      add(marked, words);
      add('same', text.slice(start + words.length));
    }
  }
  return joined;
}

/** Returns the words of a text, and the spaces and other characters between them. */
const getWords = (text: string): string[] => text.match(/[\p{L}\p{N}\p{M}_]+|\s+|./gu) ?? [];

const toPiece = (state: Piece['state'], words: readonly string[]): Piece => ({ state, text: words.join('') });

function compare(old: readonly string[], current: readonly string[]): Piece[] {
  if (old.length * current.length > MAX_COMPARED) return [toPiece('removed', old), toPiece('added', current)];
  const getEqual = countEqual(old, current);
  const pieces: Piece[] = [];
  const add = (state: Piece['state'], word = '') => {
    const last = pieces.at(-1);
    if (last?.state === state) last.text += word;
    else pieces.push({ state, text: word });
  };
  let [i, j] = [0, 0];
  while (i < old.length && j < current.length) {
    if (old[i] === current[j]) {
      add('same', old[i++]);
      j++;
    } else if (getEqual(i + 1, j) >= getEqual(i, j + 1)) add('removed', old[i++]);
    else add('added', current[j++]);
  }
  while (i < old.length) add('removed', old[i++]);
  while (j < current.length) add('added', current[j++]);
  return pieces;
}

/** Returns a function that returns the number of words that both texts have, in the same order, from two words on. */
function countEqual(old: readonly string[], current: readonly string[]): (i: number, j: number) => number {
  const row = current.length + 1;
  const counts = new Uint16Array((old.length + 1) * row);
  const get = (i: number, j: number) => counts[i * row + j] as number;
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = current.length - 1; j >= 0; j--) {
      counts[i * row + j] = old[i] === current[j] ? get(i + 1, j + 1) + 1 : Math.max(get(i + 1, j), get(i, j + 1));
    }
  }
  return get;
}
