import { createCipheriv, createDecipheriv, createHmac, randomFillSync, timingSafeEqual } from 'node:crypto';
import { v7 } from 'uuid';
import type { Clock, IdSource, Seal } from './ports/runtime.ts';

/** The machine's own clock. */
export const systemClock: Clock = { now: () => Date.now() };

const RANDOM_BYTES = 16;

/** Random bytes for so many ids are fetched at once: fetching them costs more than all the rest of making an id. */
const FETCHED_IDS = 256;

const random = Buffer.alloc(FETCHED_IDS * RANDOM_BYTES);
let used = random.length;
let msecs = 0;
let seq = 0;

/**
 * UUIDs of version 7 (RFC 9562): random, and in the order of their making, which keeps the index over them compact.
 * Those of one millisecond are counted up from a random number (method 1 of section 6.2).
 */
export const uuidV7: IdSource = {
  next() {
    const bytes = randomBytes();
    const now = Date.now();
    if (now > msecs) {
      msecs = now;
      // Its first half, so that there is always room to count on.
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
 * Encryption whose initialisation vector is a keyed digest of purpose and text, and so proves both (Rogaway and Shrimpton
 * 2006, "Deterministic authenticated-encryption"). Of two sealed texts nothing can be told but whether they are equal, and
 * about how long they are.
 *
 * @param key 32 hexadecimal digits, kept with the database
 */
export function syntheticIvSeal(key: string): Seal {
  const [cipherKey, ivKey] = ['encrypt', 'authenticate'].map((use) => derived(key, use)) as [Buffer, Buffer];
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

/** A key of its own for each use, of 128 bits. */
function derived(key: string, use: string): Buffer {
  return createHmac('sha256', Buffer.from(key, 'hex')).update(use).digest().subarray(0, 16);
}
