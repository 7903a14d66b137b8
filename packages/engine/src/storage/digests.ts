import { hash } from 'node:crypto';
import { stringify } from 'uuid';
import { copyString } from '../core/text/fold.ts';
import type { Owner } from '../ports/storage-owner.ts';
import type { Digest } from '../recall-index/entry.ts';

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
 * Returns a digest of the ids and text revisions of a group of memories. The order of the group does not affect the
 * digest.
 */
export function getGroupDigest(texts: readonly { id: string; revision: number }[]): Buffer {
  const named = texts.map(({ id, revision }) => `${id} ${revision}`);
  return hash('sha256', named.sort().join('\n'), 'buffer');
}

/**
 * Returns the new id of an imported memory whose id belongs to another owner: a UUID of version 8 (RFC 9562) from the
 * SHA-256 of owner and id, so that a repeated import finds the memory. The digest includes a secret, so that clients
 * cannot compute the ids of other owners.
 *
 * @param secret the secret of the database; see `Storage.secret`
 */
export function toNewId(secret: string, namespace: string, { userId, agentId }: Owner, id: string): string {
  const bytes = hash('sha256', JSON.stringify([secret, namespace, userId, agentId, id]), 'buffer').subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return stringify(bytes);
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
