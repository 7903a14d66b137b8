import { reserve } from './memory';

/*
 * A cache of the 8-bit vectors of recently rescored rows. Rows near the top of one query are often near the top of the
 * next query. Reading a vector from the file takes a hundred times as long as computing the product of the vector and a
 * query. The cache is direct-mapped: each row has one possible slot, and caching a row evicts the previous row of the
 * slot. Only rows with a single vector are cached.
 */

const MAX_BYTES: u32 = 1 << 23;
const STEP_BYTES: u32 = 4;

let dimensions: u32 = 0;
let vectorBytes: u32 = 0;
/** Number of slots, a power of two. */
let slots: u32 = 0;
let vectors: usize = 0;
/** By slot: the cached row plus one; 0 if the slot is empty. */
let holders: usize = 0;

/**
 * Sets the dimensions of the vectors and reserves the cache. Must be called once. The reserved region takes physical
 * memory only where vectors are written.
 */
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

/** Returns the address of a row's cached vector; 0 if the vector is not cached. */
export function getCachedVector(row: u32): usize {
  if (vectors === 0 || load<u32>(getHolder(row)) !== row + 1) return 0;
  return getSlot(row);
}

/** Caches the only vector of a row. */
export function cacheExact(row: u32, input: usize): void {
  if (vectors === 0) return;
  store<u32>(getHolder(row), row + 1);
  memory.copy(getSlot(row), input, vectorBytes);
}

/** Evicts a row whose vectors have changed or were removed. */
export function evictExact(row: u32): void {
  const vector = getCachedVector(row);
  if (vector === 0) return;
  store<u32>(getHolder(row), 0);
  memory.fill(vector, 0, vectorBytes);
}

/** Returns the inner product of a query (32-bit floats) and an 8-bit vector. */
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
