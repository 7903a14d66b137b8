import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Returns a random word that a stemmer shortens at most at its end. */
export function uniqueWord(): string {
  const letters = Array.from(randomBytes(24), (byte) => 'bcdfghjklmnpqrtvwxz'[byte % 19]).join('');
  return `${letters}o`;
}

/**
 * Returns the part of a word to search for in a database. A full-text index may share a term's prefix with the previous
 * term, and a stemmer may shorten the end.
 */
export function getMiddle(word: string): string {
  return word.slice(4, 20);
}

/** Returns whether the database file or any file in its folder contains the middle of a word. */
export function filesHold(dbPath: string, word: string): boolean {
  const middle = getMiddle(word);
  const folder = dirname(dbPath);
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .some((entry) => readFileSync(join(entry.parentPath, entry.name)).includes(middle));
}
