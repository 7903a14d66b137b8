import { describe, expect, it } from 'vitest';
import { compareHooks } from './hook-ratios.ts';

describe('compareHooks', () => {
  it('divides a hook by a recall, and the file of the hooks without two starts of Node by a recall', () => {
    const rounds = Array.from({ length: 10 }, () => ({ recall: 10, hook: 12, node: 40, file: 95 }));
    const same = { low: 1.5, high: 1.5, halves: [1.5, 1.5] };
    expect(compareHooks(rounds)).toEqual([
      { what: 'hook', percent: 50, ratio: 1.2, low: 1.2, high: 1.2, halves: [1.2, 1.2] },
      { what: 'hook', percent: 99, ratio: 1.2, low: 1.2, high: 1.2, halves: [1.2, 1.2] },
      { what: 'file', percent: 50, ratio: 1.5, ...same },
      { what: 'file', percent: 99, ratio: 1.5, ...same },
    ]);
  });

  it('returns percentiles of each kind, and an interval and halves that show how much the rounds differ', () => {
    const rounds = Array.from({ length: 100 }, (_, round) => ({
      ...{ recall: 10, node: 0, file: 10 },
      hook: round < 50 ? 10 : 20,
    }));
    const [median, tail] = compareHooks(rounds);
    expect(median).toMatchObject({ ratio: 1, low: 1, high: 2, halves: [1, 2] });
    expect(tail).toMatchObject({ ratio: 2, halves: [1, 2] });
  });
});
