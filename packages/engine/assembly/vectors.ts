import { beginCrowd, isCrowdedOut } from './best';
import { dropExact, setExactDimensions } from './exact';
import { fewCount, fewRow, isFew } from './few';
import { getSum } from './lanes';
import { full, reserve } from './memory';
import { get, set, TEXT, VECTOR, VECTORS } from './rows';
import { isAllowed, isAllowedAt } from './scope';
import { mix, NONE } from './table';

/*
 * Vectors of memories, in two forms: the signs of the components, a bit each, to be scanned, and the components in
 * four bits each, to tell the nearest among those that the signs find. A memory's vectors stand one after the other.
 *
 * A vector comes as signed bytes and a 32-bit float, the step between them. Four bits hold a whole number from -7 to
 * 7; the scale that goes with them is chosen so that the inner product of the vector with its own four bits is that
 * with itself.
 */

const BLOCK_VECTORS: u32 = 16384;
const BLOCK_BITS: u32 = 14;
const MAX_BLOCKS: u32 = 2048;
const blocks = memory.data(MAX_BLOCKS * 4, 16);

const MAX_LEVEL: i8 = 7;
/** Added to a level, so that it is stored without a sign. */
const OFFSET: i8 = 8;
/** Width of a level against the root mean square of the components: least error for a normal distribution. */
const LEVEL_WIDTH: f32 = 0.36;

export let vectorCount: u32 = 0;
export let deadVectors: u32 = 0;
export let dimensions: u32 = 0;
/** Signs are scanned in stretches of six 64-bit words. */
const STRETCH_DIMENSIONS: u32 = 384;
const STRETCH_BYTES: usize = STRETCH_DIMENSIONS >> 3;
/** Most dimensions of a vector, for which the histogram has room. The host sees to it. */
const MAX_DIMENSIONS: u32 = 10 * STRETCH_DIMENSIONS;
/** Dimensions filled up with zeros to whole stretches. */
let padded: u32 = 0;
/** Components of a vector filled up with zeros. */
let filledUp: usize = 0;
/** Signs of the query under way. */
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
  filledUp = reserve(padded);
  signs = reserve(signBytes);
  levelBytes = padded >> 1;
  blockLevels = signBytes * BLOCK_VECTORS;
  blockScales = blockLevels + levelBytes * BLOCK_VECTORS;
  blockRows = blockScales + 4 * BLOCK_VECTORS;
  blockBytes = blockRows + 4 * BLOCK_VECTORS;
}

/** Bytes of a vector as it comes: a byte a dimension and the step. */
function givenBytes(): u32 {
  return dimensions + 4;
}

function getBlock(vector: u32): usize {
  return load<usize>(blocks + ((vector >> BLOCK_BITS) << 2));
}

function inBlock(vector: u32): usize {
  return vector & (BLOCK_VECTORS - 1);
}

function rowAt(vector: u32): usize {
  return getBlock(vector) + blockRows + (inBlock(vector) << 2);
}

/** Gives a row its vectors, in place of those that it has. */
export function setVectors(row: u32, given: usize, count: u32): void {
  if (count !== (get<u16>(row, VECTORS) as u32)) {
    dropVectors(row);
    set<u32>(row, VECTOR, vectorCount);
    set<u16>(row, VECTORS, count as u16);
    for (let i: u32 = 0; i < count; i++) addVector(row);
  }
  dropExact(row);
  const first = get<u32>(row, VECTOR);
  for (let i: u32 = 0; i < count; i++) writeVector(first + i, given + i * givenBytes());
}

function addVector(row: u32): void {
  if (vectorCount === MAX_BLOCKS * BLOCK_VECTORS) full();
  const vector = vectorCount++;
  const block = vector >> BLOCK_BITS;
  if (load<usize>(blocks + (block << 2)) === 0) store<usize>(blocks + (block << 2), reserve(blockBytes));
  store<u32>(rowAt(vector), row);
}

function writeVector(vector: u32, given: usize): void {
  memory.copy(filledUp, given, dimensions);
  writeSigns(filledUp, getBlock(vector) + inBlock(vector) * signBytes);
  writeLevels(filledUp, load<f32>(given + dimensions), vector);
}

/** Bit i % 8 of byte i / 8 is set where component i is positive. The components are filled up with zeros. */
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
    product += getSum(dot(low, v128.load(components + i))) + getSum(dot(high, v128.load(components + half + i)));
    const offset = i8x16.splat(OFFSET);
    v128.store(levels + i, v128.or(i8x16.add(low, offset), i8x16.shl(i8x16.add(high, offset), 4)));
  }
  const scale: f32 = product > 0 ? (squares * step) / (product as f32) : 0;
  store<f32>(getBlock(vector) + blockScales + (inBlock(vector) << 2), scale);
}

/** The levels nearest to sixteen components. */
function getLevels(components: v128, width: f32): v128 {
  const inverse = f32x4.splat(1 / width);
  const low = i16x8.extend_low_i8x16_s(components);
  const high = i16x8.extend_high_i8x16_s(components);
  const levels = i8x16.narrow_i16x8_s(
    i16x8.narrow_i32x4_s(
      divided(i32x4.extend_low_i16x8_s(low), inverse),
      divided(i32x4.extend_high_i16x8_s(low), inverse),
    ),
    i16x8.narrow_i32x4_s(
      divided(i32x4.extend_low_i16x8_s(high), inverse),
      divided(i32x4.extend_high_i16x8_s(high), inverse),
    ),
  );
  return i8x16.max_s(i8x16.min_s(levels, i8x16.splat(MAX_LEVEL)), i8x16.splat(-MAX_LEVEL));
}

function divided(components: v128, inverse: v128): v128 {
  return i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(f32x4.convert_i32x4_s(components), inverse)));
}

function dotBytes(left: usize, right: usize, bytes: usize): i32 {
  let sums = i32x4.splat(0);
  for (let at: usize = 0; at < bytes; at += 16)
    sums = i32x4.add(sums, dot(v128.load(left + at), v128.load(right + at)));
  return getSum(sums);
}

/** A fingerprint of the signs of a row's vector, one of several. */
export function heldSigns(owner: u64, row: u32, which: u32): u64 {
  const vector = get<u32>(row, VECTOR) + which;
  return fingerprint(owner, getBlock(vector) + inBlock(vector) * signBytes, which);
}

/** The same of a vector as it comes. */
export function givenSigns(owner: u64, given: usize, which: u32): u64 {
  memory.copy(filledUp, given + which * givenBytes(), dimensions);
  writeSigns(filledUp, signs);
  return fingerprint(owner, signs, which);
}

function fingerprint(owner: u64, from: usize, which: u32): u64 {
  let sum: u64 = 0;
  for (let at: usize = 0; at < signBytes; at += 8) {
    sum += mix(owner + (which as u64) + (at as u64), load<u64>(from + at));
  }
  return sum;
}

/** Leaves a row without vectors. */
export function dropVectors(row: u32): void {
  dropExact(row);
  const count: u32 = get<u16>(row, VECTORS);
  const first = get<u32>(row, VECTOR);
  for (let vector = first; vector < first + count; vector++) store<u32>(rowAt(vector), NONE);
  deadVectors += count;
  set<u16>(row, VECTORS, 0);
}

/** Moves vectors up to where dropped ones stood. */
export function closeGaps(): void {
  let kept: u32 = 0;
  for (let vector: u32 = 0; vector < vectorCount; vector++) {
    const row = load<u32>(rowAt(vector));
    if (row === NONE) continue;
    if (kept !== vector) {
      if (get<u32>(row, VECTOR) === vector) set<u32>(row, VECTOR, kept);
      moveVector(vector, kept, row);
    }
    kept++;
  }
  vectorCount = kept;
  deadVectors = 0;
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
  store<u32>(rowAt(to), row);
}

/** Candidates that one scan gathers before it drops those that have fallen behind. */
const GATHERED: u32 = 16384;
/** Most that are sought: the room for a quarter more is why those behind are dropped only now and then. */
const MAX_LOOKED_UP: u32 = (GATHERED / 4) * 3;
const gathered = memory.data(GATHERED * 8, 16);
/** By distance: how many gathered candidates have it. */
const histogram = memory.data((MAX_DIMENSIONS + 1) * 4, 16);

let threshold: u32 = 0;
/** Gathered candidates that are within the threshold, and gathered ones in all. */
let within: u32 = 0;
let gatheredCount: u32 = 0;

/** The allowed row whose vectors the scan goes through, and the distance of the nearest of them so far. */
let scannedRow: u32 = NONE;
let scannedDistance: u32 = 0;

/**
 * Writes the allowed rows that own the vectors whose signs differ least from those of a query to `into`, and how many.
 * At least `wanted` where there are as many, or 12,288, with those that tie with the last of them, up to twice as many. A
 * row takes one place, however many vectors it has, and of rows with one text only `mostOfText` are among them: about the
 * newest.
 */
export function nearestSigns(query: usize, wanted: u32, mostOfText: u32, into: usize): u32 {
  const most = min<u32>(wanted, MAX_LOOKED_UP);
  beginCrowd(mostOfText);
  writeSigns(query, signs);
  memory.fill(histogram, 0, ((dimensions as usize) + 1) << 2);
  threshold = dimensions;
  within = 0;
  gatheredCount = 0;
  scannedRow = NONE;
  // The newest first, so that they are those of a text that are let in.
  if (isFew) {
    for (let left = fewCount; left > 0; left--) if (isAllowedAt(left - 1)) scanRow(fewRow(left - 1), most);
  } else scanAll(most);
  gatherScanned(most);
  dropBehind();
  return takeNearest(most, into);
}

function scanAll(most: u32): void {
  const blocks = (vectorCount + BLOCK_VECTORS - 1) / BLOCK_VECTORS;
  for (let left = blocks; left > 0; left--) {
    const first = (left - 1) * BLOCK_VECTORS;
    scanBlock(first, min<u32>(vectorCount - first, BLOCK_VECTORS), most);
  }
}

function scanRow(row: u32, most: u32): void {
  const count: u32 = get<u16>(row, VECTORS);
  const first = get<u32>(row, VECTOR);
  for (let vector = first; vector < first + count; vector++) {
    const at = getBlock(vector) + inBlock(vector) * signBytes;
    let distance: u32 = 0;
    for (let place: usize = 0; place < signBytes; place += 8) {
      distance += popcnt(load<u64>(signs + place) ^ load<u64>(at + place)) as u32;
    }
    if (distance <= threshold) scanned(row, distance, most);
  }
}

// The query's first stretch stays in registers. Bits are counted by 64: processors have an instruction for that, where
// those of 128 are put together of a dozen on x86, so that a scan by them takes nearly twice as long.
function scanBlock(first: u32, count: u32, most: u32): void {
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
    if (row !== NONE && isAllowed(row)) scanned(row, distance, most);
  }
}

// The vectors of a row stand one after the other.
function scanned(row: u32, distance: u32, most: u32): void {
  if (row === scannedRow) {
    scannedDistance = min(scannedDistance, distance);
    return;
  }
  gatherScanned(most);
  scannedRow = row;
  scannedDistance = distance;
}

function gatherScanned(most: u32): void {
  if (scannedRow === NONE || scannedDistance > threshold) return;
  if (!isCrowdedOut(get<u32>(scannedRow, TEXT))) gather(scannedRow, scannedDistance, most);
}

function gather(row: u32, distance: u32, most: u32): void {
  if (gatheredCount === GATHERED) dropBehind();
  if (gatheredCount === GATHERED) dropTies(most);
  store<u32>(gathered + (gatheredCount << 3), row);
  store<u32>(gathered + (gatheredCount << 3), distance, 4);
  gatheredCount++;
  within++;
  const count = histogram + (distance << 2);
  store<u32>(count, load<u32>(count) + 1);
  while (threshold > 0 && within - load<u32>(histogram + (threshold << 2)) >= most) {
    within -= load<u32>(histogram + (threshold << 2));
    threshold--;
  }
}

function dropBehind(): void {
  let kept: u32 = 0;
  for (let i: u32 = 0; i < gatheredCount; i++) {
    const candidate = load<u64>(gathered + (i << 3));
    if (((candidate >> 32) as u32) > threshold) continue;
    store<u64>(gathered + (kept << 3), candidate);
    kept++;
  }
  gatheredCount = kept;
}

// Those at the threshold that are not needed, so that there is room for nearer ones: which of them stay is as good as
// any other choice.
function dropTies(most: u32): void {
  let spare: u32 = within > most ? within - most : 0;
  const count = histogram + (threshold << 2);
  store<u32>(count, load<u32>(count) - spare);
  within -= spare;
  let kept: u32 = 0;
  for (let i: u32 = 0; i < gatheredCount; i++) {
    const candidate = load<u64>(gathered + (i << 3));
    if (spare > 0 && ((candidate >> 32) as u32) === threshold) {
      spare--;
      continue;
    }
    store<u64>(gathered + (kept << 3), candidate);
    kept++;
  }
  gatheredCount = kept;
}

// Those nearer than the threshold first, so that it is the farthest that go where there are too many.
function takeNearest(most: u32, into: usize): u32 {
  let taken: u32 = 0;
  for (let pass: u32 = 0; pass < 2; pass++) {
    for (let i: u32 = 0; i < gatheredCount && taken < most * 2; i++) {
      const isLast = load<u32>(gathered + (i << 3), 4) === threshold;
      if (isLast !== (pass === 1)) continue;
      store<u32>(into + (taken << 2), load<u32>(gathered + (i << 3)));
      taken++;
    }
  }
  return taken;
}

/**
 * About the inner product of a query, as signed bytes, and a vector: within some hundredths of a cosine's range. The
 * caller multiplies by the query's step.
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
  return (getSum(sums) as f32) * load<f32>(getBlock(vector) + blockScales + (inBlock(vector) << 2));
}

function dot(left: v128, right: v128): v128 {
  return i32x4.add(
    i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(left), i16x8.extend_low_i8x16_s(right)),
    i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(left), i16x8.extend_high_i8x16_s(right)),
  );
}

/** The largest product of a query and the vectors of a row; NaN where it has none. */
export function largestProduct(query: usize, row: u32): f32 {
  const count: u32 = get<u16>(row, VECTORS);
  if (count === 0) return f32.NaN;
  const first = get<u32>(row, VECTOR);
  let largest: f32 = -f32.MAX_VALUE;
  for (let vector = first; vector < first + count; vector++) largest = max<f32>(largest, product(query, vector));
  return largest;
}

/** Bytes that a query's components must have room for. */
export function queryBytes(): usize {
  return padded;
}
