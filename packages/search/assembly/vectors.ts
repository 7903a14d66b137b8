import { evictExact, setExactDimensions } from './exact';
import { isTextLimitReached, resetTextCounts } from './heap';
import { sumLanes } from './lanes';
import { reserve, trapOutOfMemory } from './memory';
import { get, set, TEXT, VECTOR, VECTORS } from './rows';
import { isAllowed, isAllowedAt } from './scope';
import { getSmallScopeRow, isSmallScope, smallScopeCount } from './small-scope';
import { mix, NONE } from './table';

/*
 * Vectors of memories, in two forms: the signs of the components, one bit each, for scanning, and the components in
 * four bits each, for rescoring the candidates of the scan. The vectors of a memory are consecutive.
 *
 * An input vector has one signed byte per dimension, followed by the value of one step as a 32-bit float. A four-bit
 * component is an integer from -7 to 7. The scale of a four-bit vector is chosen so that its inner product with the
 * input vector equals the inner product of the input vector with itself.
 */

const BLOCK_VECTORS: u32 = 16384;
const BLOCK_BITS: u32 = 14;
const MAX_BLOCKS: u32 = 2048;
const blocks = memory.data(MAX_BLOCKS * 4, 16);

const MAX_LEVEL: i8 = 7;
/** Added to a level, so that the stored number is not negative. */
const OFFSET: i8 = 8;
/** Width of a level relative to the root mean square of the components: least error for a normal distribution. */
const LEVEL_WIDTH: f32 = 0.36;

export let vectorCount: u32 = 0;
export let removedVectors: u32 = 0;
export let dimensions: u32 = 0;
/** Signs are scanned in stretches of six 64-bit words. */
const STRETCH_DIMENSIONS: u32 = 384;
const STRETCH_BYTES: usize = STRETCH_DIMENSIONS >> 3;
/** Maximum dimensions of a vector, limited by the size of the histogram. The host enforces the limit. */
const MAX_DIMENSIONS: u32 = 10 * STRETCH_DIMENSIONS;
/** Dimensions rounded up to whole stretches. */
let padded: u32 = 0;
/** Buffer for the zero-padded components of a vector. */
let paddedComponents: usize = 0;
/** Signs of the current query. */
let signs: usize = 0;
let signBytes: usize = 0;
let levelBytes: usize = 0;
let blockLevels: usize = 0;
let blockScales: usize = 0;
let blockRows: usize = 0;
let blockBytes: usize = 0;

export function setDimensions(count: u32): void {
  setExactDimensions(count);
  dimensions = count;
  padded = ((count + STRETCH_DIMENSIONS - 1) / STRETCH_DIMENSIONS) * STRETCH_DIMENSIONS;
  signBytes = padded >> 3;
  paddedComponents = reserve(padded);
  signs = reserve(signBytes);
  levelBytes = padded >> 1;
  blockLevels = signBytes * BLOCK_VECTORS;
  blockScales = blockLevels + levelBytes * BLOCK_VECTORS;
  blockRows = blockScales + 4 * BLOCK_VECTORS;
  blockBytes = blockRows + 4 * BLOCK_VECTORS;
}

/** Returns the size of an input vector in bytes: one byte per dimension and four bytes for the step. */
function getInputBytes(): u32 {
  return dimensions + 4;
}

function getBlock(vector: u32): usize {
  return load<usize>(blocks + ((vector >> BLOCK_BITS) << 2));
}

function inBlock(vector: u32): usize {
  return vector & (BLOCK_VECTORS - 1);
}

function getRowAddress(vector: u32): usize {
  return getBlock(vector) + blockRows + (inBlock(vector) << 2);
}

/** Replaces the vectors of a row by `count` input vectors. */
export function setVectors(row: u32, input: usize, count: u32): void {
  if (count !== (get<u16>(row, VECTORS) as u32)) {
    dropVectors(row);
    set<u32>(row, VECTOR, vectorCount);
    set<u16>(row, VECTORS, count as u16);
    for (let i: u32 = 0; i < count; i++) addVector(row);
  }
  evictExact(row);
  const first = get<u32>(row, VECTOR);
  for (let i: u32 = 0; i < count; i++) writeVector(first + i, input + i * getInputBytes());
}

function addVector(row: u32): void {
  if (vectorCount === MAX_BLOCKS * BLOCK_VECTORS) trapOutOfMemory();
  const vector = vectorCount++;
  const block = vector >> BLOCK_BITS;
  if (load<usize>(blocks + (block << 2)) === 0) store<usize>(blocks + (block << 2), reserve(blockBytes));
  store<u32>(getRowAddress(vector), row);
}

function writeVector(vector: u32, input: usize): void {
  memory.copy(paddedComponents, input, dimensions);
  writeSigns(paddedComponents, getBlock(vector) + inBlock(vector) * signBytes);
  writeLevels(paddedComponents, load<f32>(input + dimensions), vector);
}

/** Sets bit i % 8 of byte i / 8 if component i is positive. The components must be zero-padded. */
function writeSigns(components: usize, into: usize): void {
  for (let i: usize = 0; i < padded; i += 16) {
    const positive = i8x16.gt_s(v128.load(components + i), i8x16.splat(0));
    store<u16>(into + (i >> 3), i8x16.bitmask(positive) as u16);
  }
}

function writeLevels(components: usize, step: f32, vector: u32): void {
  const squares = dotBytes(components, components, padded) as f32;
  const width = max<f32>(LEVEL_WIDTH * sqrt<f32>(squares / (dimensions as f32)), 1e-9);
  const levels = getBlock(vector) + blockLevels + inBlock(vector) * levelBytes;
  const half: usize = padded >> 1;
  let product: i32 = 0;
  for (let i: usize = 0; i < half; i += 16) {
    const low = getLevels(v128.load(components + i), width);
    const high = getLevels(v128.load(components + half + i), width);
    product += sumLanes(dot(low, v128.load(components + i))) + sumLanes(dot(high, v128.load(components + half + i)));
    const offset = i8x16.splat(OFFSET);
    v128.store(levels + i, v128.or(i8x16.add(low, offset), i8x16.shl(i8x16.add(high, offset), 4)));
  }
  const scale: f32 = product > 0 ? (squares * step) / (product as f32) : 0;
  store<f32>(getBlock(vector) + blockScales + (inBlock(vector) << 2), scale);
}

/** Rounds sixteen components to four-bit levels of the given width. */
function getLevels(components: v128, width: f32): v128 {
  const inverse = f32x4.splat(1 / width);
  const low = i16x8.extend_low_i8x16_s(components);
  const high = i16x8.extend_high_i8x16_s(components);
  const levels = i8x16.narrow_i16x8_s(
    i16x8.narrow_i32x4_s(
      quantize(i32x4.extend_low_i16x8_s(low), inverse),
      quantize(i32x4.extend_high_i16x8_s(low), inverse),
    ),
    i16x8.narrow_i32x4_s(
      quantize(i32x4.extend_low_i16x8_s(high), inverse),
      quantize(i32x4.extend_high_i16x8_s(high), inverse),
    ),
  );
  return i8x16.max_s(i8x16.min_s(levels, i8x16.splat(MAX_LEVEL)), i8x16.splat(-MAX_LEVEL));
}

function quantize(components: v128, inverse: v128): v128 {
  return i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(f32x4.convert_i32x4_s(components), inverse)));
}

function dotBytes(left: usize, right: usize, bytes: usize): i32 {
  let sums = i32x4.splat(0);
  for (let at: usize = 0; at < bytes; at += 16)
    sums = i32x4.add(sums, dot(v128.load(left + at), v128.load(right + at)));
  return sumLanes(sums);
}

/** Returns a fingerprint of the signs of one of a row's vectors. */
export function getSignFingerprint(owner: u64, row: u32, index: u32): u64 {
  const vector = get<u32>(row, VECTOR) + index;
  return fingerprint(owner, getBlock(vector) + inBlock(vector) * signBytes, index);
}

/** Returns the result that `getSignFingerprint` would have for an input vector if the vector were stored. */
export function getInputSignFingerprint(owner: u64, input: usize, index: u32): u64 {
  memory.copy(paddedComponents, input + index * getInputBytes(), dimensions);
  writeSigns(paddedComponents, signs);
  return fingerprint(owner, signs, index);
}

function fingerprint(owner: u64, from: usize, index: u32): u64 {
  let sum: u64 = 0;
  for (let at: usize = 0; at < signBytes; at += 8) {
    sum += mix(owner + (index as u64) + (at as u64), load<u64>(from + at));
  }
  return sum;
}

export function dropVectors(row: u32): void {
  evictExact(row);
  const count: u32 = get<u16>(row, VECTORS);
  const first = get<u32>(row, VECTOR);
  for (let vector = first; vector < first + count; vector++) store<u32>(getRowAddress(vector), NONE);
  removedVectors += count;
  set<u16>(row, VECTORS, 0);
}

/** Compacts the vectors, so that removed vectors leave no gaps. */
export function closeGaps(): void {
  let keptCount: u32 = 0;
  for (let vector: u32 = 0; vector < vectorCount; vector++) {
    const row = load<u32>(getRowAddress(vector));
    if (row === NONE) continue;
    if (keptCount !== vector) {
      if (get<u32>(row, VECTOR) === vector) set<u32>(row, VECTOR, keptCount);
      moveVector(vector, keptCount, row);
    }
    keptCount++;
  }
  vectorCount = keptCount;
  removedVectors = 0;
}

function moveVector(from: u32, to: u32, row: u32): void {
  const source = getBlock(from);
  const target = getBlock(to);
  memory.copy(target + inBlock(to) * signBytes, source + inBlock(from) * signBytes, signBytes);
  memory.copy(
    target + blockLevels + inBlock(to) * levelBytes,
    source + blockLevels + inBlock(from) * levelBytes,
    levelBytes,
  );
  store<f32>(target + blockScales + (inBlock(to) << 2), load<f32>(source + blockScales + (inBlock(from) << 2)));
  store<u32>(getRowAddress(to), row);
}

/**
 * Maximum collected candidates. When the maximum is reached, candidates beyond `threshold` are dropped, and then
 * surplus candidates at `threshold`.
 */
const MAX_CANDIDATES: u32 = 16384;
/** Maximum requested candidates. The spare quarter makes compaction rare. */
const MAX_RESCORED: u32 = (MAX_CANDIDATES / 4) * 3;
const collected = memory.data(MAX_CANDIDATES * 8, 16);
/** Number of collected candidates by distance. The distance of two vectors is the number of differing signs. */
const histogram = memory.data((MAX_DIMENSIONS + 1) * 4, 16);

let threshold: u32 = 0;
/** Number of collected candidates with a distance of at most `threshold`. */
let withinThreshold: u32 = 0;
/** Number of collected candidates. */
let collectedCount: u32 = 0;

/** The row in scope whose vectors are being scanned. */
let scannedRow: u32 = NONE;
/** The smallest distance of the vectors of `scannedRow` scanned so far. */
let scannedDistance: u32 = 0;

/**
 * Writes the rows in scope whose vector signs differ least from the query's to `into`, and returns the number of rows:
 * at most `requested` (at most 12,288), plus rows that tie with the last row, up to twice as many in all. A row is
 * written once, even if several of its vectors are near. At most `maxPerText` rows have the same text, roughly the
 * newest.
 */
export function nearestSigns(query: usize, requested: u32, maxPerText: u32, into: usize): u32 {
  const limit = min<u32>(requested, MAX_RESCORED);
  resetTextCounts(maxPerText);
  writeSigns(query, signs);
  memory.fill(histogram, 0, ((dimensions as usize) + 1) << 2);
  threshold = dimensions;
  withinThreshold = 0;
  collectedCount = 0;
  scannedRow = NONE;
  // Newest first, so that the limit per text leaves the newest rows of a text.
  if (isSmallScope) {
    for (let left = smallScopeCount; left > 0; left--)
      if (isAllowedAt(left - 1)) scanRow(getSmallScopeRow(left - 1), limit);
  } else scanAll(limit);
  collectScannedRow(limit);
  dropBeyondThreshold();
  return takeNearest(limit, into);
}

function scanAll(limit: u32): void {
  const blocks = (vectorCount + BLOCK_VECTORS - 1) / BLOCK_VECTORS;
  for (let left = blocks; left > 0; left--) {
    const first = (left - 1) * BLOCK_VECTORS;
    scanBlock(first, min<u32>(vectorCount - first, BLOCK_VECTORS), limit);
  }
}

function scanRow(row: u32, limit: u32): void {
  const count: u32 = get<u16>(row, VECTORS);
  const first = get<u32>(row, VECTOR);
  for (let vector = first; vector < first + count; vector++) {
    const at = getBlock(vector) + inBlock(vector) * signBytes;
    let distance: u32 = 0;
    for (let place: usize = 0; place < signBytes; place += 8) {
      distance += popcnt(load<u64>(signs + place) ^ load<u64>(at + place)) as u32;
    }
    if (distance <= threshold) noteScanned(row, distance, limit);
  }
}

// The query's first stretch stays in registers. Bits are counted in 64-bit words, for which processors have an
// instruction. On x86, a 128-bit count is emulated by a dozen instructions, which makes a scan almost twice as slow.
function scanBlock(first: u32, count: u32, limit: u32): void {
  const rows = getBlock(first) + blockRows;
  const bytes = signBytes;
  let at = getBlock(first) + (count as usize) * bytes;
  const query0 = load<u64>(signs);
  const query1 = load<u64>(signs, 8);
  const query2 = load<u64>(signs, 16);
  const query3 = load<u64>(signs, 24);
  const query4 = load<u64>(signs, 32);
  const query5 = load<u64>(signs, 40);
  for (let left = count; left > 0; left--) {
    at -= bytes;
    const low = popcnt(query0 ^ load<u64>(at)) + popcnt(query1 ^ load<u64>(at, 8)) + popcnt(query2 ^ load<u64>(at, 16));
    const high =
      popcnt(query3 ^ load<u64>(at, 24)) + popcnt(query4 ^ load<u64>(at, 32)) + popcnt(query5 ^ load<u64>(at, 40));
    let distance = (low + high) as u32;
    for (let place: usize = STRETCH_BYTES; place < bytes; place += 8) {
      distance += popcnt(load<u64>(signs + place) ^ load<u64>(at + place)) as u32;
    }
    if (distance > threshold) continue;
    const row = load<u32>(rows + ((left - 1) << 2));
    if (row !== NONE && isAllowed(row)) noteScanned(row, distance, limit);
  }
}

// Reduces the consecutive vectors of a row to their smallest distance.
function noteScanned(row: u32, distance: u32, limit: u32): void {
  if (row === scannedRow) {
    scannedDistance = min(scannedDistance, distance);
    return;
  }
  collectScannedRow(limit);
  scannedRow = row;
  scannedDistance = distance;
}

function collectScannedRow(limit: u32): void {
  if (scannedRow === NONE || scannedDistance > threshold) return;
  if (!isTextLimitReached(get<u32>(scannedRow, TEXT))) collect(scannedRow, scannedDistance, limit);
}

function collect(row: u32, distance: u32, limit: u32): void {
  if (collectedCount === MAX_CANDIDATES) dropBeyondThreshold();
  if (collectedCount === MAX_CANDIDATES) dropTies(limit);
  store<u32>(collected + (collectedCount << 3), row);
  store<u32>(collected + (collectedCount << 3), distance, 4);
  collectedCount++;
  withinThreshold++;
  const count = histogram + (distance << 2);
  store<u32>(count, load<u32>(count) + 1);
  while (threshold > 0 && withinThreshold - load<u32>(histogram + (threshold << 2)) >= limit) {
    withinThreshold -= load<u32>(histogram + (threshold << 2));
    threshold--;
  }
}

function dropBeyondThreshold(): void {
  let keptCount: u32 = 0;
  for (let i: u32 = 0; i < collectedCount; i++) {
    const candidate = load<u64>(collected + (i << 3));
    if (((candidate >> 32) as u32) > threshold) continue;
    store<u64>(collected + (keptCount << 3), candidate);
    keptCount++;
  }
  collectedCount = keptCount;
}

// Drops surplus candidates at the threshold, to make room for nearer candidates. Candidates at the threshold tie, so
// any of them can be dropped.
function dropTies(limit: u32): void {
  let spare: u32 = withinThreshold > limit ? withinThreshold - limit : 0;
  const count = histogram + (threshold << 2);
  store<u32>(count, load<u32>(count) - spare);
  withinThreshold -= spare;
  let keptCount: u32 = 0;
  for (let i: u32 = 0; i < collectedCount; i++) {
    const candidate = load<u64>(collected + (i << 3));
    if (spare > 0 && ((candidate >> 32) as u32) === threshold) {
      spare--;
      continue;
    }
    store<u64>(collected + (keptCount << 3), candidate);
    keptCount++;
  }
  collectedCount = keptCount;
}

// Writes candidates nearer than the threshold first, so that the limit only cuts off candidates at the threshold.
function takeNearest(limit: u32, into: usize): u32 {
  let count: u32 = 0;
  for (let pass: u32 = 0; pass < 2; pass++) {
    for (let i: u32 = 0; i < collectedCount && count < limit * 2; i++) {
      const isLast = load<u32>(collected + (i << 3), 4) === threshold;
      if (isLast !== (pass === 1)) continue;
      store<u32>(into + (count << 2), load<u32>(collected + (i << 3)));
      count++;
    }
  }
  return count;
}

/**
 * Returns the approximate inner product of a query, as signed bytes, and a vector. The caller multiplies the product by
 * the step of the query to get the approximate cosine.
 */
function product(query: usize, vector: u32): f32 {
  const levels = getBlock(vector) + blockLevels + inBlock(vector) * levelBytes;
  const half: usize = padded >> 1;
  const nibble = i8x16.splat(0x0f);
  const offset = i8x16.splat(OFFSET);
  let sums = i32x4.splat(0);
  for (let at: usize = 0; at < half; at += 16) {
    const packed = v128.load(levels + at);
    const low = i8x16.sub(v128.and(packed, nibble), offset);
    const high = i8x16.sub(i8x16.shr_u(packed, 4), offset);
    sums = i32x4.add(sums, dot(low, v128.load(query + at)));
    sums = i32x4.add(sums, dot(high, v128.load(query + half + at)));
  }
  return (sumLanes(sums) as f32) * load<f32>(getBlock(vector) + blockScales + (inBlock(vector) << 2));
}

function dot(left: v128, right: v128): v128 {
  return i32x4.add(
    i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(left), i16x8.extend_low_i8x16_s(right)),
    i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(left), i16x8.extend_high_i8x16_s(right)),
  );
}

/** Returns the largest product of a query and any vector of a row; NaN if the row has no vectors. */
export function getLargestProduct(query: usize, row: u32): f32 {
  const count: u32 = get<u16>(row, VECTORS);
  if (count === 0) return f32.NaN;
  const first = get<u32>(row, VECTOR);
  let largest: f32 = -f32.MAX_VALUE;
  for (let vector = first; vector < first + count; vector++) largest = max<f32>(largest, product(query, vector));
  return largest;
}

/** Returns the size of a query in bytes: its components, zero-padded to whole stretches. */
export function getQueryBytes(): usize {
  return padded;
}
