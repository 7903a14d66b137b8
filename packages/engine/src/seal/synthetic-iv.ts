import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from 'node:crypto';
import type { Seal } from '../ports/runtime.ts';

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
  const ivOf = (text: Buffer, purpose: string): Buffer =>
    createHmac('sha256', ivKey).update(purpose).update('\0').update(text).digest().subarray(0, IV_BYTES);
  return {
    seal(text, purpose) {
      const plain = Buffer.from(text);
      const iv = ivOf(plain, purpose);
      return Buffer.concat([iv, createCipheriv(CIPHER, cipherKey, iv).update(plain)]).toString('base64url');
    },
    open(sealed, purpose) {
      if (!SEALED.test(sealed)) return undefined;
      const bytes = Buffer.from(sealed, 'base64url');
      const iv = bytes.subarray(0, IV_BYTES);
      const plain = createDecipheriv(CIPHER, cipherKey, iv).update(bytes.subarray(IV_BYTES));
      return timingSafeEqual(iv, ivOf(plain, purpose)) ? plain.toString() : undefined;
    },
  };
}

/** A key of its own for each use, of 128 bits. */
function derived(key: string, use: string): Buffer {
  return createHmac('sha256', Buffer.from(key, 'hex')).update(use).digest().subarray(0, 16);
}
