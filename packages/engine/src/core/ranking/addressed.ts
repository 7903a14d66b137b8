import { queryWords } from '../text/query-words.ts';

/** Who "you" is to somebody who asks about a conversation with an assistant, by the names that chats give it. */
const ASSISTANTS = ['assistant', 'ai'];

const YOU = new Set(termsOf(['you', 'your', 'yours']));
const PERSONS = new Set(termsOf(['i', 'my', 'me', 'you', 'your']));
const NAMES = termsOf(ASSISTANTS);

/** A polite request says "you" too, but asks for nothing that was said. */
const ADDRESSES = /(?<!\b(?:can|could|will|would)\s{1,4})\byou(?:rs?)?\b/i;

/**
 * For each word of a query, each any of some terms, the terms by which it names a speaker: its own, and where the query
 * asks what "you" said, those of an assistant. In English alone.
 */
export function speakerTerms(query: string, words: readonly string[][]): string[][] {
  if (!ADDRESSES.test(query)) return [...words];
  return words.map((terms) => (YOU.has(terms[0] as string) ? [...terms, ...NAMES] : terms));
}

/** For each word of a query, 1 where it is one of those by which English speakers name themselves or each other. */
export function personsAmong(words: readonly string[][]): Uint8Array {
  return Uint8Array.from(words, ([term]) => (PERSONS.has(term as string) ? 1 : 0));
}

/** As an index has them. */
function termsOf(words: readonly string[]): string[] {
  return words.flatMap((word) => queryWords(word).flatMap(([term]) => term ?? []));
}
