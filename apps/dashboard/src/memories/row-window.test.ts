import { describe, expect, it } from 'vitest';
import { getContentPx, getRowRange, getRowTop, getScrollTopFor, toScrollTop } from './row-window.ts';

const layout = { total: 100_000, rowPx: 36, viewPx: 720 };

describe('the window of a table', () => {
  it('rows have their full height, so that the scroll bar is true over 100,000 rows', () => {
    expect(getContentPx(layout)).toBe(3_600_000);
    expect(getRowRange(360_000, layout, 2)).toEqual({ first: 9998, last: 10_022 });
    expect(getRowTop(10_000, 360_000, layout)).toBe(360_000);
  });

  it('rows to render are limited to the first and the last row', () => {
    expect(getRowRange(0, layout, 5).first).toBe(0);
    expect(getRowRange(3_600_000 - 720, layout, 5)).toEqual({ first: 99_975, last: 99_999 });
    expect(getRowRange(0, { ...layout, total: 0 }, 5)).toEqual({ first: 0, last: -1 });
  });

  it('rows scroll by the smallest distance that shows a row', () => {
    expect(getScrollTopFor(5, 100, layout)).toBe(100);
    expect(getScrollTopFor(1, 100, layout)).toBe(36);
    expect(getScrollTopFor(22, 100, layout)).toBe(23 * 36 - 720);
  });

  it('rows are reached in proportion if a million rows are higher than a browser allows', () => {
    const million = { ...layout, total: 1_000_000 };
    const height = getContentPx(million);
    expect(height).toBeLessThan(17_000_000);
    expect(getRowRange(height - million.viewPx, million, 0).last).toBe(999_999);
    for (const index of [0, 1, 499_999, 999_980]) {
      const scrollTop = toScrollTop(index * 36, million);
      expect(getRowRange(scrollTop + 1e-6, million, 0).first).toBe(index);
      // The row is at the top of the visible part.
      expect(getRowTop(index, scrollTop, million) - scrollTop).toBeCloseTo(0, 3);
    }
  });
});
