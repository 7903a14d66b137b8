import { reserve } from './memory';

/*
 * Vectors of the rows that were measured exactly of late, as they come: what is near the top of one answer is often near
 * that of another, and to read it from the file takes a hundred times as long as to measure it. A row has one slot that
 * it may stand in, which it takes from whichever row had it. Only rows with a single vector have one.
 */

const MAX_BYTES: u32 = 1 << 23;
const STEP_BYTES: u32 = 4;

let dimensions: u32 = 0;
let vectorBytes: u32 = 0;
/** A power of two. */
let slots: u32 = 0;
let vectors: usize = 0;
/** By slot: the row that stands there, plus one; 0 is none. */
let holders: usize = 0;

/** To be called once. What is reserved takes memory only where vectors stand. */
export function setExactDimensions(count: u32): void {
  if (count === 0) return;
  dimensions = count;
  vectorBytes = count + STEP_BYTES;
  slots = 1 << (31 - clz<u32>(MAX_BYTES / vectorBytes));
  holders = reserve(slots << 2);
  vectors = reserve(slots * vectorBytes);
}

function getHolder(row: u32): usize {
  return holders + ((row & (slots - 1)) << 2);
}

function getSlot(row: u32): usize {
  return vectors + (row & (slots - 1)) * vectorBytes;
}

/** Where the vector of a row stands; 0 where it does not. */
export function exactVector(row: u32): usize {
  if (vectors === 0 || load<u32>(getHolder(row)) !== row + 1) return 0;
  return getSlot(row);
}

/** Keeps the only vector of a row. */
export function keepExact(row: u32, given: usize): void {
  if (vectors === 0) return;
  store<u32>(getHolder(row), row + 1);
  memory.copy(getSlot(row), given, vectorBytes);
}

/** Leaves nothing of a row whose vectors have changed or gone. */
export function dropExact(row: u32): void {
  const vector = exactVector(row);
  if (vector === 0) return;
  store<u32>(getHolder(row), 0);
  memory.fill(vector, 0, vectorBytes);
}

/** The inner product of a query (32-bit floats) and a vector as it comes. */
export function exactProduct(query: usize, vector: usize): f64 {
  let sums = f64x2.splat(0);
  let i: u32 = 0;
  for (; i + 8 <= dimensions; i += 8) {
    const eight = i16x8.extend_low_i8x16_s(v128.load64_zero(vector + i));
    const low = i32x4.extend_low_i16x8_s(eight);
    const high = i32x4.extend_high_i16x8_s(eight);
    sums = f64x2.add(sums, multiply(low, query + (i << 2)));
    sums = f64x2.add(sums, multiply(high, query + ((i + 4) << 2)));
  }
  let sum = f64x2.extract_lane(sums, 0) + f64x2.extract_lane(sums, 1);
  for (; i < dimensions; i++) sum += (load<i8>(vector + i) as f64) * (load<f32>(query + (i << 2)) as f64);
  return sum * (load<f32>(vector + dimensions) as f64);
}

function multiply(four: v128, query: usize): v128 {
  const floats = v128.load(query);
  const low = f64x2.mul(f64x2.convert_low_i32x4_s(four), f64x2.promote_low_f32x4(floats));
  const rest = v128.shuffle<u64>(four, four, 1, 0);
  const restFloats = v128.shuffle<u64>(floats, floats, 1, 0);
  return f64x2.add(low, f64x2.mul(f64x2.convert_low_i32x4_s(rest), f64x2.promote_low_f32x4(restFloats)));
}
