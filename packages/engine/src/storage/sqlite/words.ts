import { createHash } from 'node:crypto';
import type { Connection } from './connection.ts';
import { sql } from './connection.ts';

/*
 * The word index keeps digests of terms, never terms: the first 48 bits of the SHA-256 of the namespace and the term.
 * So a namespace sees only its own postings and frequencies, no text ever reaches FTS5 as syntax, every script and
 * sign is a term like any other, and no word of a forgotten memory can stay behind in the structure of the index. Two
 * of 100,000 terms share a digest with a chance of 2 in 100,000; they would then count as one term.
 */
const DIGEST_BYTES = 6;
const ENTRY_BYTES = DIGEST_BYTES + 2;
const MOST_FREQUENT = 0xffff;

/** Terms whose digests are kept at hand, over all namespaces. */
const KNOWN_DIGESTS_LIMIT = 50_000;
const knownDigests = new Map<string, number>();

/** The digest of a namespace's term, a whole number below 2^48. */
export function termDigest(namespace: string, term: string): number {
  const key = `${namespace}\0${term}`;
  let digest = knownDigests.get(key);
  if (digest === undefined) {
    digest = createHash('sha256').update(key).digest().readUIntBE(0, DIGEST_BYTES);
    if (knownDigests.size >= KNOWN_DIGESTS_LIMIT) knownDigests.clear();
    knownDigests.set(key, digest);
  }
  return digest;
}

/** How the index spells a digest: letters and digits only, which its tokenizer keeps as one token. */
export function spell(digest: number): string {
  return digest.toString(36);
}

/** The terms of a memory as bytes: digests in ascending order, each followed by its frequency (16 bits, saturating). */
function packTerms(frequencies: ReadonlyMap<number, number>): Buffer {
  const bytes = Buffer.allocUnsafe(frequencies.size * ENTRY_BYTES);
  let at = 0;
  for (const digest of [...frequencies.keys()].sort((a, b) => a - b)) {
    bytes.writeUIntBE(digest, at, DIGEST_BYTES);
    bytes.writeUInt16BE(Math.min(frequencies.get(digest) as number, MOST_FREQUENT), at + DIGEST_BYTES);
    at += ENTRY_BYTES;
  }
  return bytes;
}

/** How often a term occurs, by binary search in packed terms; 0 when it does not. */
export function frequencyOf(digest: number, terms: Buffer): number {
  let low = 0;
  let high = terms.length / ENTRY_BYTES - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const at = middle * ENTRY_BYTES;
    const found = terms.readUIntBE(at, DIGEST_BYTES);
    if (found === digest) return terms.readUInt16BE(at + DIGEST_BYTES);
    if (found < digest) low = middle + 1;
    else high = middle - 1;
  }
  return 0;
}

/** Adds a memory's terms to the index. `length` is its length in terms that count. */
export function addWords(
  connection: Connection,
  ordinal: number,
  frequencies: ReadonlyMap<number, number>,
  length: number,
): void {
  const terms = packTerms(frequencies);
  sql(connection, 'INSERT INTO memory_words (ordinal, length, terms) VALUES (?, ?, ?)').run(ordinal, length, terms);
  sql(connection, 'INSERT INTO word_index (rowid, terms) VALUES (?, ?)').run(ordinal, spellAll(terms));
}

/** Takes a memory's terms out of the index, if they are in it. */
export function removeWords(connection: Connection, ordinal: number): void {
  const terms = sql(connection, 'SELECT terms FROM memory_words WHERE ordinal = ?').pluck().get(ordinal) as
    | Buffer
    | undefined;
  if (!terms) return;
  sql(connection, "INSERT INTO word_index (word_index, rowid, terms) VALUES ('delete', ?, ?)").run(
    ordinal,
    spellAll(terms),
  );
  sql(connection, 'DELETE FROM memory_words WHERE ordinal = ?').run(ordinal);
}

function spellAll(terms: Buffer): string {
  const spelled: string[] = [];
  for (let at = 0; at < terms.length; at += ENTRY_BYTES) spelled.push(spell(terms.readUIntBE(at, DIGEST_BYTES)));
  return spelled.join(' ');
}
