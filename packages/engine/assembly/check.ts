import {
  ENTRY_CREATED_AT,
  ENTRY_HEAD,
  ENTRY_IMPORTANCE,
  ENTRY_LABELS,
  ENTRY_LENGTH,
  ENTRY_MARKS,
  ENTRY_MODEL,
  ENTRY_NAMESPACE,
  ENTRY_ORDINAL,
  ENTRY_SESSION,
  ENTRY_SPEAKER,
  ENTRY_STORED_AT,
  ENTRY_TERMS,
  ENTRY_VECTORS,
  model,
  namespaces,
  sessions,
  TERM_BYTES,
} from './entries';
import {
  chunkLength,
  chunkPostings,
  firstChunk,
  getDigest,
  getFrequency,
  getRow,
  nextChunk,
  termCount,
} from './postings';
import {
  CREATED_AT,
  get,
  IMPORTANCE,
  LENGTH,
  LIVE,
  MARKS,
  NAMESPACE,
  ORDINAL,
  rowCount,
  SESSION,
  SPEAKER,
  STORED_AT,
  VECTORS,
} from './rows';
import { find, mix } from './table';
import { givenSigns, heldSigns } from './vectors';

/*
 * Whether the index holds what entries say is told by fingerprints: sums, over all that is held, of numbers that hang on
 * each posting, sign and fact and on the memory that it belongs to. Sums do not hang on the order.
 */

let expected: u64 = 0;

/** Begins a check. */
export function expectNothing(): void {
  expected = 0;
}

/** Adds an entry to what the index is expected to hold. */
export function expectEntry(entry: usize): void {
  const owner = load<u64>(entry, ENTRY_ORDINAL);
  const session = load<u64>(entry, ENTRY_SESSION);
  expected += mix(owner, load<u64>(entry, ENTRY_CREATED_AT));
  expected += mix(owner, find(namespaces, load<u64>(entry, ENTRY_NAMESPACE)) as u64);
  expected += mix(owner, session === 0 ? 0 : (find(sessions, session) as u64));
  expected += mix(
    owner,
    textFacts(load<u32>(entry, ENTRY_LENGTH), load<u32>(entry, ENTRY_SPEAKER), load<u16>(entry, ENTRY_MARKS)),
  );
  expected += mix(owner, retained(load<f64>(entry, ENTRY_STORED_AT), load<f32>(entry, ENTRY_IMPORTANCE)));
  const postings = load<u32>(entry, ENTRY_TERMS) + load<u32>(entry, ENTRY_LABELS);
  for (let i: u32 = 0; i < postings; i++) {
    const term = load<u64>(entry + ENTRY_HEAD + i * TERM_BYTES);
    expected += mix(owner, counted(term >> 16, (term & 0xffff) as u32));
  }
  const count = load<u32>(entry, ENTRY_MODEL) === model ? load<u32>(entry, ENTRY_VECTORS) : 0;
  for (let i: u32 = 0; i < count; i++) {
    expected += givenSigns(owner, entry + ENTRY_HEAD + postings * TERM_BYTES, i);
  }
}

/** Whether the index holds what was expected and no more. */
export function isAsExpected(): bool {
  let held: u64 = 0;
  for (let row: u32 = 0; row < rowCount; row++) if (get<u8>(row, LIVE) !== 0) held += heldFacts(row);
  for (let term: u32 = 0; term < termCount; term++) held += heldPostings(term);
  return held === expected;
}

function heldFacts(row: u32): u64 {
  const owner = getOwner(row);
  let held = mix(owner, reinterpret<u64>(get<f64>(row, CREATED_AT)));
  held += mix(owner, get<u32>(row, NAMESPACE) as u64);
  held += mix(owner, get<u32>(row, SESSION) as u64);
  held += mix(owner, textFacts(get<u32>(row, LENGTH), get<u32>(row, SPEAKER), get<u16>(row, MARKS)));
  held += mix(owner, retained(get<f64>(row, STORED_AT), get<f32>(row, IMPORTANCE)));
  const vectors: u32 = get<u16>(row, VECTORS);
  for (let i: u32 = 0; i < vectors; i++) held += heldSigns(owner, row, i);
  return held;
}

function heldPostings(term: u32): u64 {
  let held: u64 = 0;
  for (let chunk = firstChunk(term); chunk !== 0; chunk = nextChunk(chunk)) {
    const length = chunkLength(chunk);
    for (let i: u32 = 0; i < length; i++) {
      const posting = load<u32>(chunkPostings(chunk) + (i << 2));
      const row = getRow(posting);
      if (get<u8>(row, LIVE) === 0) continue;
      held += mix(getOwner(row), counted(getDigest(term), getFrequency(posting)));
    }
  }
  return held;
}

function getOwner(row: u32): u64 {
  return reinterpret<u64>(get<f64>(row, ORDINAL));
}

function textFacts(length: u32, speaker: u32, marks: u16): u64 {
  return ((length as u64) << 32) ^ (speaker as u64) ^ ((marks as u64) << 48);
}

function retained(storedAt: f64, importance: f32): u64 {
  return mix(reinterpret<u64>(storedAt), reinterpret<u32>(importance) as u64);
}

function counted(digest: u64, frequency: u32): u64 {
  return (digest << 8) | (min<u32>(frequency, 0xff) as u64);
}
