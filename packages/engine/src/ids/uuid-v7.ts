import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';
import type { IdSource } from '../ports/runtime.ts';

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
