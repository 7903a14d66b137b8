/**
 * What a run costs besides its tokens, in tokens: reading all weights and starting each operator takes as long as 12
 * further tokens.
 */
const RUN_COST = 12;

/** Most tokens of a run of several texts, padding included: longer runs save nothing more, and a query waits for half a one. */
export const RUN_TOKENS = 128;

/**
 * Which texts share a run, by how many tokens each has: those of about one length, so that what is padded to the longest
 * costs less than runs of their own. Each text is in one run, by its index.
 */
export function runsOf(lengths: readonly number[]): number[][] {
  const ascending = lengths.map((_, index) => index).sort((a, b) => (lengths[a] as number) - (lengths[b] as number));
  const runs: number[][] = [];
  let longest = 0;
  for (const index of ascending) {
    const length = lengths[index] as number;
    const run = runs.at(-1);
    const fits = run && (run.length + 1) * length <= RUN_TOKENS && run.length * (length - longest) <= RUN_COST;
    if (fits) run.push(index);
    else runs.push([index]);
    longest = length;
  }
  return runs;
}
