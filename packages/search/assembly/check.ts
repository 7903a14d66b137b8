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
  getChunkLength,
  getChunkPostings,
  getDigest,
  getFirstChunk,
  getFrequency,
  getNextChunk,
  getRow,
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
import { getInputSignFingerprint, getSignFingerprint } from './vectors';

/*
 * Checks the contents of the index against a list of index entries, by comparing two fingerprints. A fingerprint is the
 * sum of hashes of the postings, the fields and the vector signs. Each hash includes the ordinal of the memory. A sum
 * does not depend on the order of the index entries.
 */

let expected: u64 = 0;

/** Starts a check that expects an empty index. */
export function resetExpected(): void {
  expected = 0;
}

/** Adds an index entry to the expected contents. */
export function expectEntry(entry: usize): void {
  const owner = load<u64>(entry, ENTRY_ORDINAL);
  const session = load<u64>(entry, ENTRY_SESSION);
  expected += mix(owner, load<u64>(entry, ENTRY_CREATED_AT));
  expected += mix(owner, find(namespaces, load<u64>(entry, ENTRY_NAMESPACE)) as u64);
  expected += mix(owner, session === 0 ? 0 : (find(sessions, session) as u64));
  expected += mix(
    owner,
    packTextFacts(load<u32>(entry, ENTRY_LENGTH), load<u32>(entry, ENTRY_SPEAKER), load<u16>(entry, ENTRY_MARKS)),
  );
  expected += mix(owner, mixRetentionFacts(load<f64>(entry, ENTRY_STORED_AT), load<f32>(entry, ENTRY_IMPORTANCE)));
  const postings = load<u32>(entry, ENTRY_TERMS) + load<u32>(entry, ENTRY_LABELS);
  for (let i: u32 = 0; i < postings; i++) {
    const term = load<u64>(entry + ENTRY_HEAD + i * TERM_BYTES);
    expected += mix(owner, toPostingKey(term >> 16, (term & 0xffff) as u32));
  }
  const count = load<u32>(entry, ENTRY_MODEL) === model ? load<u32>(entry, ENTRY_VECTORS) : 0;
  for (let i: u32 = 0; i < count; i++) {
    expected += getInputSignFingerprint(owner, entry + ENTRY_HEAD + postings * TERM_BYTES, i);
  }
}

/** Returns whether the fingerprint of the index equals the fingerprint of the expected contents. */
export function matchesExpected(): bool {
  let actual: u64 = 0;
  for (let row: u32 = 0; row < rowCount; row++) if (get<u8>(row, LIVE) !== 0) actual += sumRowFacts(row);
  for (let term: u32 = 0; term < termCount; term++) actual += sumPostings(term);
  return actual === expected;
}

function sumRowFacts(row: u32): u64 {
  const owner = getOwnerKey(row);
  let actual = mix(owner, reinterpret<u64>(get<f64>(row, CREATED_AT)));
  actual += mix(owner, get<u32>(row, NAMESPACE) as u64);
  actual += mix(owner, get<u32>(row, SESSION) as u64);
  actual += mix(owner, packTextFacts(get<u32>(row, LENGTH), get<u32>(row, SPEAKER), get<u16>(row, MARKS)));
  actual += mix(owner, mixRetentionFacts(get<f64>(row, STORED_AT), get<f32>(row, IMPORTANCE)));
  const vectors: u32 = get<u16>(row, VECTORS);
  for (let i: u32 = 0; i < vectors; i++) actual += getSignFingerprint(owner, row, i);
  return actual;
}

function sumPostings(term: u32): u64 {
  let actual: u64 = 0;
  for (let chunk = getFirstChunk(term); chunk !== 0; chunk = getNextChunk(chunk)) {
    const length = getChunkLength(chunk);
    for (let i: u32 = 0; i < length; i++) {
      const posting = load<u32>(getChunkPostings(chunk) + (i << 2));
      const row = getRow(posting);
      if (get<u8>(row, LIVE) === 0) continue;
      actual += mix(getOwnerKey(row), toPostingKey(getDigest(term), getFrequency(posting)));
    }
  }
  return actual;
}

function getOwnerKey(row: u32): u64 {
  return reinterpret<u64>(get<f64>(row, ORDINAL));
}

function packTextFacts(length: u32, speaker: u32, marks: u16): u64 {
  return ((length as u64) << 32) ^ (speaker as u64) ^ ((marks as u64) << 48);
}

function mixRetentionFacts(storedAt: f64, importance: f32): u64 {
  return mix(reinterpret<u64>(storedAt), reinterpret<u32>(importance) as u64);
}

function toPostingKey(digest: u64, frequency: u32): u64 {
  return (digest << 8) | (min<u32>(frequency, 0xff) as u64);
}
