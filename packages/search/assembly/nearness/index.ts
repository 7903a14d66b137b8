import { sumLanes } from '../lanes';

/*
 * Late interaction of a query and a text. Token states are unit vectors of 32 signed bytes, scaled by 127 (see
 * src/index/token-states.ts).
 */

const STATE_BYTES: usize = 32;
const STATE_SCALE: f64 = 127;
const COUNT_BYTES: usize = 2;

/** Bytes of the states of four tokens. */
const GROUP_BYTES: usize = 4 * STATE_BYTES;

/** First address after the module's own data. The host writes queries and texts from this address on. */
export const START: usize = (__heap_base + 15) & ~15;

/**
 * Returns the highest score of the parts of a text; NaN if the text has no tokens. The score of a part is a mean of
 * cosines, one for each token of the query: the cosine, at least 0, of that token and the most similar token of the
 * part.
 *
 * @param query address of the query's token states, at least one, zero-padded to a multiple of four
 * @param text address of the text's parts, each a token count (16 bits) and that many states
 */
export function nearness(query: usize, queryEnd: usize, text: usize, textEnd: usize): f64 {
  let best: f64 = NaN;
  while (text < textEnd) {
    const states = text + COUNT_BYTES;
    // Stays inside the text even if its token count is corrupted.
    const end = min(textEnd, states + (load<u16>(text) as usize) * STATE_BYTES);
    if (end > states) {
      const score = getPartScore(query, queryEnd, states, end);
      if (!(score <= best)) best = score;
    }
    text = end;
  }
  return best;
}

function getPartScore(query: usize, queryEnd: usize, states: usize, end: usize): f64 {
  let sum: i64 = 0;
  for (let group = query; group < queryEnd; group += GROUP_BYTES) {
    sum += sumLanes(getLargestProducts(group, states, end)) as i64;
  }
  return (sum as f64) / (((queryEnd - query) / STATE_BYTES) as f64) / (STATE_SCALE * STATE_SCALE);
}

/** Returns, for each of the four tokens of a group, the largest product with any state, at least 0. */
function getLargestProducts(group: usize, states: usize, end: usize): v128 {
  // Computes the products of four tokens at once, so that a state is loaded and widened once for all four tokens.
  const a0 = v128.load8x8_s(group);
  const a1 = v128.load8x8_s(group, 8);
  const a2 = v128.load8x8_s(group, 16);
  const a3 = v128.load8x8_s(group, 24);
  const b0 = v128.load8x8_s(group, 32);
  const b1 = v128.load8x8_s(group, 40);
  const b2 = v128.load8x8_s(group, 48);
  const b3 = v128.load8x8_s(group, 56);
  const c0 = v128.load8x8_s(group, 64);
  const c1 = v128.load8x8_s(group, 72);
  const c2 = v128.load8x8_s(group, 80);
  const c3 = v128.load8x8_s(group, 88);
  const d0 = v128.load8x8_s(group, 96);
  const d1 = v128.load8x8_s(group, 104);
  const d2 = v128.load8x8_s(group, 112);
  const d3 = v128.load8x8_s(group, 120);
  let largest = i32x4.splat(0);
  for (let state = states; state < end; state += STATE_BYTES) {
    const s0 = v128.load8x8_s(state);
    const s1 = v128.load8x8_s(state, 8);
    const s2 = v128.load8x8_s(state, 16);
    const s3 = v128.load8x8_s(state, 24);
    const a = i32x4.add(addProducts(a0, s0, a1, s1), addProducts(a2, s2, a3, s3));
    const b = i32x4.add(addProducts(b0, s0, b1, s1), addProducts(b2, s2, b3, s3));
    const c = i32x4.add(addProducts(c0, s0, c1, s1), addProducts(c2, s2, c3, s3));
    const d = i32x4.add(addProducts(d0, s0, d1, s1), addProducts(d2, s2, d3, s3));
    largest = i32x4.max_s(largest, addPairs(addPairs(a, b), addPairs(c, d)));
  }
  return largest;
}

function addProducts(one: v128, other: v128, oneMore: v128, otherMore: v128): v128 {
  return i32x4.add(i32x4.dot_i16x8_s(one, other), i32x4.dot_i16x8_s(oneMore, otherMore));
}

/** Returns the sums of adjacent lanes: two sums of `one`, then two sums of `other`. */
function addPairs(one: v128, other: v128): v128 {
  return i32x4.add(v128.shuffle<i32>(one, other, 0, 2, 4, 6), v128.shuffle<i32>(one, other, 1, 3, 5, 7));
}
