import { describe, expect, it } from 'vitest';
import { pairedBootstrap } from './bootstrap.ts';

describe('pairedBootstrap', () => {
  const differences = Array.from({ length: 200 }, (_, index) => Math.sin(index) + 0.5);

  it('returns the same interval for the same differences', () => {
    expect(pairedBootstrap(differences)).toEqual(pairedBootstrap(differences));
  });

  it('returns an interval about as wide as the normal approximation for 200 differences', () => {
    const { mean, low, high } = pairedBootstrap(differences);
    const variance = differences.reduce((sum, value) => sum + (value - mean) ** 2, 0) / differences.length;
    const halfWidth = 1.96 * Math.sqrt(variance / differences.length);
    expect(low).toBeLessThan(mean);
    expect(high).toBeGreaterThan(mean);
    expect(Math.abs((high - low) / 2 / halfWidth - 1)).toBeLessThan(0.05);
  });

  it('returns an interval of width 0 if all differences are equal', () => {
    expect(pairedBootstrap([0.25, 0.25, 0.25])).toEqual({ mean: 0.25, low: 0.25, high: 0.25 });
  });
});
