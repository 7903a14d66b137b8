import { hash } from 'node:crypto';
import { ownCopy } from '../core/text/fold.ts';
import type { Digest } from '../recall-index/entry.ts';

/*
 * The index of words keeps digests of terms, never terms: the first 48 bits of the SHA-256 of the namespace and the
 * term. So a namespace sees only its own postings and frequencies, every script and sign is a term like any other, and
 * no word of a forgotten memory can stay behind in the structure of an index. Two of 100,000 terms share a digest with
 * a chance of 2 in 100,000; they would then count as one term. Namespaces and what filters ask for are digests too.
 */
const DIGEST_HEX_DIGITS = 12;

/** Terms whose digests are kept at hand, over all namespaces, and how long they are at most, in UTF-16 units: as words are. */
const KNOWN_LIMIT = 50_000;
const MAX_CACHED_CHARS = 64;
let known = new Map<string, Map<string, Digest>>();
let knownCount = 0;

/** The digest of a namespace's term. */
export function termDigest(namespace: string, term: string): Digest {
  if (term.length > MAX_CACHED_CHARS) return getDigest(namespace, term);
  let terms = known.get(namespace);
  const found = terms?.get(term);
  if (found !== undefined) return found;
  if (knownCount >= KNOWN_LIMIT) {
    known = new Map();
    knownCount = 0;
    terms = undefined;
  }
  if (!terms) known.set(namespace, (terms = new Map()));
  const digest = getDigest(namespace, term);
  terms.set(ownCopy(term), digest);
  knownCount++;
  return digest;
}

export function namespaceDigest(namespace: string): Digest {
  return termDigest('', namespace);
}

/** The digest of what a memory is found by besides its words. Terms have no U+0000, so none is a label. */
export function labelDigest(namespace: string, name: string, value: string): Digest {
  return termDigest(namespace, `${name}\0${value}`);
}

function getDigest(namespace: string, term: string): Digest {
  return Number.parseInt(hash('sha256', `${namespace}\0${term}`).slice(0, DIGEST_HEX_DIGITS), 16);
}

/** Stands for a group of memories with the texts that they have now, each as its id and revision, in any order. */
export function getGroupDigest(texts: readonly { id: string; revision: number }[]): Buffer {
  const named = texts.map(({ id, revision }) => `${id} ${revision}`);
  return hash('sha256', named.sort().join('\n'), 'buffer');
}

/**
 * Longer runs of combining marks than any writing has: normalising takes time by the square of their length, minutes
 * for a text of nothing else. A text with one is its own canonical form.
 */
const ENDLESS_MARKS = /(?<!\p{M})\p{M}{128}/u;

/** The text under which memories are exact duplicates: Unicode NFC without white space around it. */
export function canonicalText(content: string): string {
  return ENDLESS_MARKS.test(content) ? content : content.normalize('NFC').trim();
}

/** Equal for exact duplicates: the first 128 bits of the SHA-256 of the canonical text. */
export function textDigest(content: string): Buffer {
  return hash('sha256', canonicalText(content), 'buffer').subarray(0, 16);
}

/** For each of some digests the place of the first that is equal. */
export function firstEqual(digests: readonly string[]): Int32Array {
  const firsts = new Map<string, number>();
  return Int32Array.from(digests, (digest, place) => {
    const first = firsts.get(digest) ?? place;
    if (first === place) firsts.set(digest, place);
    return first;
  });
}
