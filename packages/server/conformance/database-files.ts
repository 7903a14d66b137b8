import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';

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

/**
 * Returns whether the database file or any file in its folder contains the middle of a word. Another process reads the
 * files, because a server of this process would lose its locks if this process opened and closed its database.
 */
export function filesHold(dbPath: string, word: string): boolean {
  const { status, stderr } = spawnSync('grep', ['-rqaF', '--', getMiddle(word), dirname(dbPath)], { encoding: 'utf8' });
  if (status !== 0 && status !== 1) throw new Error(`grep failed: ${stderr}`);
  return status === 0;
}
