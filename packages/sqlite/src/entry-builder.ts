import type { NewMemory } from '@memoryd/core';
import pLimit from 'p-limit';
import type { Thread } from './storage-thread.ts';

/**
 * Maximum memories of a slice, which is the work of one call. A slice occupies the thread for one to two milliseconds,
 * during which long reads wait.
 */
const MAX_SLICE_MEMORIES = 32;
/** Number of characters at which a slice ends. The last memory of the slice may exceed this limit. */
const MAX_SLICE_CHARS = 8 * 1024;

/**
 * Number of memories after which the thread builds index entries. Until the code is compiled in that thread, the
 * first 4,000 index entries take five times as long as later ones, so smaller imports finish sooner without the thread.
 */
const DEFAULT_START_AFTER = 8192;

/** Concurrent calls to the thread: one is executed, and one is queued so that the thread never waits for work. */
const MAX_CONCURRENT = 2;

/**
 * Builds the index entries of queued stores in the read thread for long reads. The text analysis would otherwise
 * take two fifths of the time of the write thread.
 */
export class EntryBuilder {
  readonly #reader: Thread;
  readonly #startAfter: number;
  readonly #inTurn = pLimit(MAX_CONCURRENT);
  #seen = 0;

  constructor(reader: Thread, startAfter = DEFAULT_START_AFTER) {
    this.#reader = reader;
    this.#startAfter = startAfter;
  }

  /**
   * Starts building the index entries of memories in order.
   *
   * @returns a function to call right before the memories are written. The function stops the work, and returns the
   * index entries of the first memories, concatenated and with the placeholder ordinal 0. The write thread builds the
   * remaining index entries.
   */
  begin(memories: readonly NewMemory[]): () => Uint8Array {
    this.#seen += memories.length;
    const slices = this.#seen > this.#startAfter ? [...splitIntoSlices(memories)] : [];
    const built = slices.map(() => NOT_BUILT);
    let isTaken = false;
    const build = async (slice: NewMemory[], place: number) => {
      if (!isTaken) built[place] = await this.#reader.call<Uint8Array>('buildEntries', slice);
    };
    // If a slice fails, the write thread builds the index entries of the slice and reports the error.
    for (const [place, slice] of slices.entries()) this.#inTurn(build, slice, place).catch(() => {});
    return () => {
      isTaken = true;
      const missing = built.indexOf(NOT_BUILT);
      return Buffer.concat(missing < 0 ? built : built.slice(0, missing));
    };
  }
}

const NOT_BUILT: Uint8Array = new Uint8Array();

function* splitIntoSlices(memories: readonly NewMemory[]): Iterable<NewMemory[]> {
  let slice: NewMemory[] = [];
  let chars = 0;
  for (const memory of memories) {
    slice.push(memory);
    chars += memory.content.length;
    if (slice.length < MAX_SLICE_MEMORIES && chars < MAX_SLICE_CHARS) continue;
    yield slice;
    slice = [];
    chars = 0;
  }
  if (slice.length > 0) yield slice;
}
