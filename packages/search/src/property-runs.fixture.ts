/**
 * Returns the number of runs of a property test: `long` in `npm run test:long`, otherwise a fifth of `long`. For
 * properties that open databases or consolidate, whose runs take up to seconds.
 */
export function propertyRuns(long: number): number {
  return process.env.LONG_TESTS ? long : Math.ceil(long / 5);
}
