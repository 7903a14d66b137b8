import { scan } from './scan.ts';

/** The words that the text of a memory must have. A person types them, so they are not stemmed. */
export interface ListWords {
  whole: string[];
  /** Each is a word, or the beginning of one. */
  beginnings: string[];
}

/**
 * Maximum UTF-8 bytes of the words of one text that lists can find, so that they fit into a `tsvector` of PostgreSQL,
 * which has at most 1 MiB. A text of 10 MB has about a tenth of this.
 */
const MAX_BYTES = 400_000;

/** Bytes that a word takes besides its letters. */
const WORD_BYTES = 12;

/**
 * Returns the distinct words of a text that lists find: folded, so that case and accents do not matter, and not stemmed,
 * so that the beginning of a word finds it. Includes stop words, the parts of compounds (`fooBar`), signs, and for
 * scripts without spaces single letters and pairs of letters. Words beyond `MAX_BYTES` are left out.
 */
export function getListWords(text: string): string[] {
  const words = new Set<string>();
  let bytes = 0;
  const add = (word: string) => {
    if (word === '' || words.has(word) || bytes > MAX_BYTES) return;
    bytes += Buffer.byteLength(word) + WORD_BYTES;
    words.add(word);
  };
  scan(text, {
    term: add,
    word: ({ folded, parts }) => {
      add(folded);
      for (const part of parts) add(part);
    },
  });
  return [...words];
}

/**
 * Returns the words that a person typed; undefined without a letter, number or sign. The last one is a beginning, even
 * if a space or punctuation follows.
 */
export function readListWords(typed: string): ListWords | undefined {
  const found: { word: string; end: number }[] = [];
  scan(typed, {
    // Other terms are parts of the ones that count, such as the letters of a pair.
    term: (word, counts, _start, end) => counts && found.push({ word, end }),
    word: ({ folded }, _start, end) => folded !== '' && found.push({ word: folded, end }),
  });
  if (found.length === 0) return undefined;
  const last = Math.max(...found.map(({ end }) => end));
  const select = (isLast: boolean) => [
    ...new Set(found.filter(({ end }) => (end === last) === isLast).map(({ word }) => word)),
  ];
  return { whole: select(false), beginnings: select(true) };
}
