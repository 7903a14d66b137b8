import pLimit from 'p-limit';
import type { NewMemory } from '../../ports/storage-memories.ts';
import type { Thread } from './storage-thread.ts';

/** About what one call of the thread makes entries of, in a millisecond or two: reads, which share it, wait no longer. */
const SLICE_MEMORIES = 32;
const SLICE_CHARS = 8 * 1024;

/**
 * Memories after which the thread helps. Its first 4,000 take it five times as long as later ones, until its code is
 * compiled, on a processor that others need; a shorter history is stored sooner without.
 */
const HELPS_AFTER = 8192;

/** Calls that are with the thread at a time: one that runs and one that is at hand when it ends. */
const AT_HAND = 2;

/**
 * Makes the entries of memories that wait to be written, in the thread that reads: to analyse their texts is two fifths of
 * what the thread which writes does with them.
 */
export class EntryMaker {
  readonly #reader: Thread;
  readonly #helpsAfter: number;
  readonly #inTurn = pLimit(AT_HAND);
  #seen = 0;

  constructor(reader: Thread, helpsAfter = HELPS_AFTER) {
    this.#reader = reader;
    this.#helpsAfter = helpsAfter;
  }

  /**
   * Begins to make the entries of memories, from the first on. To be called when they are about to be written, what it
   * answers takes those that are made by then, one after the other and but for their ordinals; who writes makes the rest.
   */
  begin(memories: readonly NewMemory[]): () => Uint8Array {
    this.#seen += memories.length;
    const slices = this.#seen > this.#helpsAfter ? [...splitIntoSlices(memories)] : [];
    const made = slices.map(() => NOT_MADE);
    let isTaken = false;
    const make = async (slice: NewMemory[], place: number) => {
      if (!isTaken) made[place] = await this.#reader.call<Uint8Array>('makeEntries', slice);
    };
    // What fails is left to who writes, and told of there.
    for (const [place, slice] of slices.entries()) this.#inTurn(make, slice, place).catch(() => {});
    return () => {
      isTaken = true;
      const missing = made.indexOf(NOT_MADE);
      return Buffer.concat(missing < 0 ? made : made.slice(0, missing));
    };
  }
}

const NOT_MADE: Uint8Array = new Uint8Array();

function* splitIntoSlices(memories: readonly NewMemory[]): Iterable<NewMemory[]> {
  let slice: NewMemory[] = [];
  let chars = 0;
  for (const memory of memories) {
    slice.push(memory);
    chars += memory.content.length;
    if (slice.length < SLICE_MEMORIES && chars < SLICE_CHARS) continue;
    yield slice;
    slice = [];
    chars = 0;
  }
  if (slice.length > 0) yield slice;
}
