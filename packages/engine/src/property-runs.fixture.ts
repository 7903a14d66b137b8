/**
 * Returns the number of runs of a property test: all in `npm run test:long`, otherwise a fifth. Use it for properties
 * that open databases or consolidate, where a run takes up to seconds.
 */
export function propertyRuns(long: number): number {
  return process.env.LONG_TESTS ? long : Math.ceil(long / 5);
}
