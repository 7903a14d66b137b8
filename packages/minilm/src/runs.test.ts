import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { groupIntoRuns, MAX_RUN_TOKENS } from './model.ts';

const anyLengths = fc.array(fc.integer({ min: 2, max: 256 }), { maxLength: 40 });

describe('groupIntoRuns', () => {
  it('includes each text once', () => {
    fc.assert(
      fc.property(anyLengths, (lengths) => {
        const indices = groupIntoRuns(lengths).flat();
        expect(indices.toSorted((a, b) => a - b)).toEqual(lengths.map((_, index) => index));
      }),
    );
  });

  it('limits the number of tokens in a run of several texts, including padding', () => {
    fc.assert(
      fc.property(anyLengths, (lengths) => {
        for (const run of groupIntoRuns(lengths)) {
          const longest = Math.max(...run.map((index) => lengths[index] as number));
          if (run.length > 1) expect(run.length * longest).toBeLessThanOrEqual(MAX_RUN_TOKENS);
        }
      }),
    );
  });

  it('pads texts only if separate runs would cost more', () => {
    expect(groupIntoRuns([8, 20])).toEqual([[0, 1]]);
    expect(groupIntoRuns([8, 21])).toEqual([[0], [1]]);
    expect(groupIntoRuns([14, 14, 8, 8])).toEqual([[2, 3, 0, 1]]);
    expect(groupIntoRuns([15, 15, 8, 8])).toEqual([
      [2, 3],
      [0, 1],
    ]);
  });

  it('fills runs with texts of the same length', () => {
    expect(groupIntoRuns(Array(20).fill(32)).map(({ length }) => length)).toEqual([4, 4, 4, 4, 4]);
  });
});
