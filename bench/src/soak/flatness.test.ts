import { describe, expect, it } from 'vitest';
import { judgeFlatness, type Sample } from './flatness.ts';

const samples = (residentMb: (atS: number) => number, memories: (atS: number) => number = () => 1000): Sample[] =>
  Array.from({ length: 600 }, (_, atS) => ({ atS, residentMb: residentMb(atS), memories: memories(atS) }));

describe('resident memory', () => {
  it('resident memory is flat if it oscillates, or rises only at the start', () => {
    expect(judgeFlatness(samples((atS) => 400 + 30 * Math.sin(atS / 5))).flat).toBe(true);
    expect(judgeFlatness(samples((atS) => 400 - 300 * Math.exp(-atS / 40))).flat).toBe(true);
  });

  it('resident memory is not flat if it leaks 0.1 MB per second', () => {
    const leaking = judgeFlatness(samples((atS) => 400 + 0.1 * atS + 20 * Math.sin(atS)));
    expect(leaking).toMatchObject({ rise_mb: 40, flat: false });
  });

  it('resident memory is flat if it rises by 1,000 bytes per new memory, but not if it rises by 5,000 bytes', () => {
    const growing = (bytes: number) =>
      samples(
        (atS) => 400 + (atS * 500 * bytes) / 1e6,
        (atS) => atS * 500,
      );
    expect(judgeFlatness(growing(1000)).flat).toBe(true);
    expect(judgeFlatness(growing(5000)).flat).toBe(false);
  });

  it('resident memory is not flat without samples', () => {
    expect(judgeFlatness([]).flat).toBe(false);
  });
});
