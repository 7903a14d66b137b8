import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A word that occurs nowhere else and that no stemmer shortens in its middle. */
export function uniqueWord(): string {
  const letters = Array.from(randomBytes(24), (byte) => 'bcdfghjklmnpqrtvwxz'[byte % 19]).join('');
  return `${letters}o`;
}

/** What of a word is looked for: an index of terms may share a term's beginning with its neighbour and shorten its end. */
export function getMiddle(word: string): string {
  return word.slice(4, 20);
}

/** Whether the bytes of any file beside the database, or of the database itself, hold the middle of a word. */
export function filesHold(dbPath: string, word: string): boolean {
  const middle = getMiddle(word);
  const folder = dirname(dbPath);
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .some((entry) => readFileSync(join(entry.parentPath, entry.name)).includes(middle));
}
