import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { getRuns, RUN_TOKENS } from './model.ts';

const getLengths = fc.array(fc.integer({ min: 2, max: 256 }), { maxLength: 40 });

describe('the runs of some texts', () => {
  it('hold each text once', () => {
    fc.assert(
      fc.property(getLengths, (lengths) => {
        const indices = getRuns(lengths).flat();
        expect(indices.toSorted((a, b) => a - b)).toEqual(lengths.map((_, index) => index));
      }),
    );
  });

  it('hold no more tokens than a run may have, padding included, unless it is of one text', () => {
    fc.assert(
      fc.property(getLengths, (lengths) => {
        for (const run of getRuns(lengths)) {
          const longest = Math.max(...run.map((index) => lengths[index] as number));
          if (run.length > 1) expect(run.length * longest).toBeLessThanOrEqual(RUN_TOKENS);
        }
      }),
    );
  });

  it('pad less than runs of their own would cost', () => {
    expect(getRuns([8, 20])).toEqual([[0, 1]]);
    expect(getRuns([8, 21])).toEqual([[0], [1]]);
    expect(getRuns([14, 14, 8, 8])).toEqual([[2, 3, 0, 1]]);
    expect(getRuns([15, 15, 8, 8])).toEqual([
      [2, 3],
      [0, 1],
    ]);
  });

  it('are filled by texts of one length', () => {
    expect(getRuns(Array(20).fill(32)).map(({ length }) => length)).toEqual([4, 4, 4, 4, 4]);
  });
});
