import { hash } from 'node:crypto';
import type { Digest } from '../index/entry.ts';
import { copyString } from '../text/fold.ts';

/*
 * The term index stores digests instead of terms: the first 48 bits of the SHA-256 of the namespace and the term.
 * Digests separate the postings and frequencies of namespaces, treat every script alike, and leave no word of a
 * forgotten memory in the index. Among 100,000 terms, the probability that any two share a digest is 2 in 100,000; such
 * terms would be treated as one term. Namespaces and filter values are stored as digests too.
 */
const DIGEST_HEX_DIGITS = 12;

/** Maximum number of cached digests over all namespaces. */
const MAX_CACHED_TERMS = 50_000;

/** Maximum length of a cached term, in UTF-16 units. */
const MAX_CACHED_CHARS = 64;
let cache = new Map<string, Map<string, Digest>>();
let cachedCount = 0;

/** Returns the digest of a term in a namespace. */
export function termDigest(namespace: string, term: string): Digest {
  if (term.length > MAX_CACHED_CHARS) return getDigest(namespace, term);
  let terms = cache.get(namespace);
  const found = terms?.get(term);
  if (found !== undefined) return found;
  if (cachedCount >= MAX_CACHED_TERMS) {
    cache = new Map();
    cachedCount = 0;
    terms = undefined;
  }
  if (!terms) cache.set(namespace, (terms = new Map()));
  const digest = getDigest(namespace, term);
  terms.set(copyString(term), digest);
  cachedCount++;
  return digest;
}

export function namespaceDigest(namespace: string): Digest {
  return termDigest('', namespace);
}

/** Returns the digest of a label, such as a tag or a session. Terms have no U+0000, so no term equals a label. */
export function labelDigest(namespace: string, name: string, value: string): Digest {
  return termDigest(namespace, `${name}\0${value}`);
}

function getDigest(namespace: string, term: string): Digest {
  return Number.parseInt(hash('sha256', `${namespace}\0${term}`).slice(0, DIGEST_HEX_DIGITS), 16);
}

/**
 * Matches a run of combining marks that is longer than in any writing system. Normalization takes quadratic time in the
 * length of such a run: minutes for a text that has only marks. Texts with such a run are neither normalized nor
 * trimmed.
 */
const EXCESSIVE_MARKS = /(?<!\p{M})\p{M}{128}/u;

/** Returns the text that exact duplicates share: Unicode NFC, trimmed. */
export function canonicalText(content: string): string {
  return EXCESSIVE_MARKS.test(content) ? content : content.normalize('NFC').trim();
}

/** Returns the first 128 bits of the SHA-256 of the canonical text. Equal for exact duplicates. */
export function textDigest(content: string): Buffer {
  return hash('sha256', canonicalText(content), 'buffer').subarray(0, 16);
}

/** Returns, for each digest, the index of the first equal digest. */
export function firstEqual(digests: readonly string[]): Int32Array {
  const firsts = new Map<string, number>();
  return Int32Array.from(digests, (digest, place) => {
    const first = firsts.get(digest) ?? place;
    if (first === place) firsts.set(digest, place);
    return first;
  });
}
