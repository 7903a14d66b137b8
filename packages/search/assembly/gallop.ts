/**
 * Searches an ascending list of rows. Returns the first index, starting at `from`, whose row is at least `row`; `count`
 * if all rows are less. Gallops with doubling steps and then bisects (Bentley and Yao 1976, "An almost optimal
 * algorithm for unbounded searching"), so that the time grows with the logarithm of the distance.
 *
 * @param list 32-bit numbers, `stride` bytes apart, each a row above `bits` other bits
 */
export function findFirstRow(list: usize, stride: u32, bits: u32, from: u32, count: u32, row: u32): u32 {
  let step: u32 = 1;
  let low = from;
  let high = from;
  while (high < count && load<u32>(list + high * stride) >> bits < row) {
    low = high + 1;
    high += step;
    step <<= 1;
  }
  high = min(high, count);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (load<u32>(list + middle * stride) >> bits < row) low = middle + 1;
    else high = middle;
  }
  return low;
}
