import type { AskedDate } from '../../ports/ranking.ts';
import { queryWords } from '../text/query-words.ts';
import { WEIGHTS } from './weights.ts';

/** For each word of a query, 1 where it is one of those that name the date that the query asks about. */
export function datedAmong(words: readonly string[][], date: AskedDate | undefined): Uint8Array {
  const naming = new Set(date && queryWords(date.text).map(([term]) => term));
  return Uint8Array.from(words, ([term]) => (naming.has(term) ? 1 : 0));
}

/** Some dates have a name that tells nothing, as May does. */
const LEAST_MATCH = 0.1;

/**
 * How well a memory matches that is found because it is of the date that a query asks about, from 0 to 1.
 *
 * @param shares what part of a match each word makes
 */
export function dateMatch(shares: Float64Array, dated: Uint8Array): number {
  return Math.max(
    LEAST_MATCH,
    WEIGHTS.dated * shares.reduce((sum, share, word) => (dated[word] ? sum + share : sum), 0),
  );
}

/** Whether a memory created at a time is of a date. */
export function isOf({ from, until }: AskedDate, createdAt: number): boolean {
  return createdAt >= from && createdAt < until;
}

/** What happens is told before the next week is over. */
const TOLD_AFTER_MS = 7 * 86_400_000;

/** Whether a memory created at a time may speak of a date. */
export function isToldAbout({ from, until }: AskedDate, createdAt: number): boolean {
  return createdAt >= from && createdAt < until + TOLD_AFTER_MS;
}
