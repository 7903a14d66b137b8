import { sumOf } from '../lanes';

/*
 * How near the tokens of a text are to those of a query. States are unit vectors of 32 signed bytes, times 127
 * (see src/storage/token-states.ts).
 */

const STATE_BYTES: usize = 32;
const LARGEST: f64 = 127;
const COUNT_BYTES: usize = 2;

/** The first address that is free. */
export const START: usize = (__heap_base + 15) & ~15;

/**
 * For each token of a query the cosine of the nearest token, on average, in the part of a text where that is most; NaN where
 * the text has no tokens.
 *
 * @param query its states, at least one
 * @param text its parts: how many tokens each has (16 bits), and their states
 */
export function nearness(query: usize, queryEnd: usize, text: usize, textEnd: usize): f64 {
  let best: f64 = NaN;
  while (text < textEnd) {
    const states = text + COUNT_BYTES;
    // Nothing beyond the text, whatever a damaged one says.
    const end = min(textEnd, states + (load<u16>(text) as usize) * STATE_BYTES);
    if (end > states) {
      const near = nearnessOfPart(query, queryEnd, states, end);
      if (!(near <= best)) best = near;
    }
    text = end;
  }
  return best;
}

function nearnessOfPart(query: usize, queryEnd: usize, states: usize, end: usize): f64 {
  let sum: i64 = 0;
  for (let token = query; token < queryEnd; token += STATE_BYTES) sum += nearestTo(token, states, end) as i64;
  return (sum as f64) / (((queryEnd - query) / STATE_BYTES) as f64) / (LARGEST * LARGEST);
}

/** The largest product of a state and any of others, or 0 where none is larger. */
function nearestTo(token: usize, states: usize, end: usize): i32 {
  const low = v128.load(token);
  const high = v128.load(token, 16);
  let nearest: i32 = 0;
  for (let state = states; state < end; state += STATE_BYTES) {
    const sums = i32x4.add(productsOf(low, v128.load(state)), productsOf(high, v128.load(state, 16)));
    nearest = max(nearest, sumOf(sums));
  }
  return nearest;
}

// Two products of magnitudes up to 127 add up to less than 2^15.
function productsOf(one: v128, other: v128): v128 {
  const pairs = i16x8.add(i16x8.extmul_low_i8x16_s(one, other), i16x8.extmul_high_i8x16_s(one, other));
  return i32x4.extadd_pairwise_i16x8_s(pairs);
}
