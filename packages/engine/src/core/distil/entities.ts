import { DEFAULTS } from '@memoryd/contract/limits';
import { queryWords } from '../text/query-words.ts';
import { labelOf } from '../text/traits.ts';

/** Least share of memories that a word may be in to be rare, as one of so many. */
const ONE_IN = 100;

/** Few enough to look through, however large a namespace is. */
const MOST_MEMORIES = 64;

/** A group's own name or number is in all of its sources, in a small namespace too. */
const LEAST_MEMORIES = 12;

/**
 * Most memories of a namespace that hold a word which counts as rare: one in a hundred, from 12 to 64. Two memories
 * that share such a word, be it a name, a number or what they are about, may belong together. No list of names and no
 * capital letters are asked, which many scripts do not have.
 *
 * @param memories how many the namespace holds
 */
export function mostMemoriesOfRareWord(memories: number): number {
  return Math.max(LEAST_MEMORIES, Math.min(MOST_MEMORIES, Math.floor(memories / ONE_IN)));
}

/**
 * The words of a memory that may be rare, each any of some terms. In a session a text begins with who speaks, which tells
 * nothing of what is said.
 */
export function tellingWords(text: string, sessionId: string | null): string[][] {
  const label = sessionId === DEFAULTS.sessionId ? '' : labelOf(text);
  return queryWords(text.slice(label.length));
}
