import { createCipheriv, createDecipheriv, createHmac, randomFillSync, timingSafeEqual } from 'node:crypto';
import { v7 } from 'uuid';
import type { Clock, IdSource, Seal } from './ports/runtime.ts';

/** The clock of the operating system, in ms since 1970 in UTC. */
export const systemClock: Clock = { now: () => Date.now() };

const RANDOM_BYTES = 16;

/**
 * Number of ids for which random bytes are generated at once, because a call of the generator takes longer than the
 * rest of creating an id.
 */
const IDS_PER_FETCH = 256;

const random = Buffer.alloc(IDS_PER_FETCH * RANDOM_BYTES);
let used = random.length;
let msecs = 0;
let seq = 0;

/**
 * Generates UUIDs of version 7 (RFC 9562). The ids of a process sort in order of creation, so that indexes of ids stay
 * compact. Within a millisecond, a counter starts at a random number (method 1 of section 6.2).
 */
export const uuidV7: IdSource = {
  next() {
    const bytes = randomBytes();
    const now = Date.now();
    if (now > msecs) {
      msecs = now;
      // The counter starts in the lower half of its range, so that it does not overflow.
      seq = bytes.readUInt32BE() >>> 1;
    } else {
      seq++;
    }
    return v7({ msecs, seq, random: bytes });
  },
};

function randomBytes(): Buffer {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  return random.subarray(used, (used += RANDOM_BYTES));
}

const CIPHER = 'aes-128-ctr';
const IV_BYTES = 16;
const SEALED = /^[\w-]{22,}$/;

/**
 * Returns deterministic authenticated encryption. The initialization vector is a keyed digest of purpose and text, and
 * authenticates both (Rogaway and Shrimpton 2006, "Deterministic authenticated-encryption"). Sealed texts reveal only
 * their length in bytes, and whether two texts with the same purpose are equal.
 *
 * @param key 32 hexadecimal digits, stored with the database
 */
export function createSeal(key: string): Seal {
  const [cipherKey, ivKey] = ['encrypt', 'authenticate'].map((use) => deriveKey(key, use)) as [Buffer, Buffer];
  const getIv = (text: Buffer, purpose: string): Buffer =>
    createHmac('sha256', ivKey).update(purpose).update('\0').update(text).digest().subarray(0, IV_BYTES);
  return {
    seal(text, purpose) {
      const plain = Buffer.from(text);
      const iv = getIv(plain, purpose);
      return Buffer.concat([iv, createCipheriv(CIPHER, cipherKey, iv).update(plain)]).toString('base64url');
    },
    open(sealed, purpose) {
      if (!SEALED.test(sealed)) return undefined;
      const bytes = Buffer.from(sealed, 'base64url');
      const iv = bytes.subarray(0, IV_BYTES);
      const plain = createDecipheriv(CIPHER, cipherKey, iv).update(bytes.subarray(IV_BYTES));
      return timingSafeEqual(iv, getIv(plain, purpose)) ? plain.toString() : undefined;
    },
  };
}

/** Derives a separate key of 128 bits for each use. */
function deriveKey(key: string, use: string): Buffer {
  return createHmac('sha256', Buffer.from(key, 'hex')).update(use).digest().subarray(0, 16);
}
