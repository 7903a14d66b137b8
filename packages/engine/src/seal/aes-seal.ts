import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Seal } from '../ports/seal.ts';

/** One block under a key of its own, in which no two blocks that differ have anything in common. */
const CIPHER = 'aes-128-ecb';
const BLOCK_BYTES = 16;

/** Both numbers, and two bytes that are zero unless a text was made up. */
const SECOND_AT = 8;
const CHECK_AT = 14;
const TEXT = /^[\w-]{22}$/;

/** @param key 32 hexadecimal digits, kept with the database */
export function aesSeal(key: string): Seal {
  const keyBytes = Buffer.from(key, 'hex');
  return {
    seal([first, second]) {
      const block = Buffer.alloc(BLOCK_BYTES);
      block.writeBigInt64BE(BigInt(first));
      block.writeUIntBE(second, SECOND_AT, CHECK_AT - SECOND_AT);
      return createCipheriv(CIPHER, keyBytes, null).setAutoPadding(false).update(block).toString('base64url');
    },
    open(text) {
      if (!TEXT.test(text)) return undefined;
      const block = createDecipheriv(CIPHER, keyBytes, null)
        .setAutoPadding(false)
        .update(Buffer.from(text, 'base64url'));
      const first = Number(block.readBigInt64BE());
      if (block.readUInt16BE(CHECK_AT) !== 0 || !Number.isSafeInteger(first)) return undefined;
      return [first, block.readUIntBE(SECOND_AT, CHECK_AT - SECOND_AT)];
    },
  };
}
