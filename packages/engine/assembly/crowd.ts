/*
 * Of rows with one text, a search lets only some among the best, so that a thousand of them leave room for others. How many
 * there were of each text so far stands in a hash table of fixed size: what finds no place in it is let in.
 */

const SLOTS: u32 = 8192;
/** Slots in a row that are looked at for a text. */
const PROBES: u32 = 8;

/** A text's number (32 bits, 0 in a free slot) and how many rows had it (32 bits). */
const SLOT_BITS: u32 = 3;
const slots = memory.data((SLOTS + PROBES) << SLOT_BITS, 16);

let mostOfText: u32 = u32.MAX_VALUE;

/** Whether the search under way has left out any row for its text. */
export let leftOut: bool = false;

/** Begins a search that lets in so many rows of each text. */
export function beginCrowd(most: u32): void {
  mostOfText = most;
  leftOut = false;
  if (most !== u32.MAX_VALUE) memory.fill(slots, 0, (SLOTS + PROBES) << SLOT_BITS);
}

/**
 * Whether as many rows have been let in as may be of the text that a number stands for; if not, one more is let in. Any
 * number are let in of what has no text, for which 0 stands.
 */
export function isCrowdedOut(text: u32): bool {
  if (mostOfText === u32.MAX_VALUE || text === 0) return false;
  for (let probe: u32 = 0; probe < PROBES; probe++) {
    const slot = slots + (((text & (SLOTS - 1)) + probe) << SLOT_BITS);
    const found = load<u32>(slot);
    if (found !== 0 && found !== text) continue;
    const count = load<u32>(slot, 4);
    if (count >= mostOfText) return (leftOut = true);
    store<u32>(slot, text);
    store<u32>(slot, count + 1, 4);
    return false;
  }
  return false;
}
