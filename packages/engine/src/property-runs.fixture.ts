/**
 * Returns how many runs a property test makes: all in `npm run test:long`, a fifth otherwise. A run of such a property opens
 * databases or consolidates, which takes up to seconds.
 */
export function propertyRuns(long: number): number {
  return process.env.LONG_TESTS ? long : Math.ceil(long / 5);
}
