import { describe, expect, it } from 'vitest';
import { findNearest } from './nearest.ts';

describe('findNearest', () => {
  it('returns the index of the nearest place', () => {
    const places = [
      { x: -1, y: -1 },
      { x: 0.5, y: 0.5 },
      { x: 0.6, y: -0.9 },
    ];
    expect(findNearest(places, { x: 0.4, y: 0.1 })).toBe(1);
    expect(findNearest(places, { x: 0.6, y: -0.3 })).toBe(2);
  });

  it('returns -1 without places', () => {
    expect(findNearest([], { x: 0, y: 0 })).toBe(-1);
  });
});
