import type { MapPoint } from '@memoryd/client';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLabels, placeLabels } from './labels.ts';
import { fitAll } from './view.ts';

const size = { width: 800, height: 600 };
const coordinate = fc.double({ min: -1, max: 1, noNaN: true });
const label = fc.record({ x: coordinate, y: coordinate, width: fc.integer({ min: 20, max: 200 }), text: fc.string() });

function createPoint(x: number, y: number): MapPoint {
  const created_at = '2026-11-01T00:00:00.000Z';
  return { id: `${x} ${y}`, x, y, cluster: 0, created_at, tier: 'working', session_id: null };
}

describe('the names on a map', () => {
  it('never cover each other, and stay in the window', () => {
    fc.assert(
      fc.property(fc.array(label, { maxLength: 24 }), (labels) => {
        const placed = placeLabels(labels, fitAll(size), size);
        for (const [i, one] of placed.entries()) {
          expect(one.x - one.width / 2).toBeGreaterThanOrEqual(0);
          expect(one.x + one.width / 2).toBeLessThanOrEqual(size.width);
          for (const other of placed.slice(i + 1)) {
            const isBeside = Math.abs(one.x - other.x) >= (one.width + other.width) / 2;
            expect(isBeside || Math.abs(one.y - other.y) >= 18).toBe(true);
          }
        }
      }),
    );
  });

  it('stand at one of the memories that they name, with the first two words', () => {
    const points = [createPoint(-0.9, 0), createPoint(-0.8, 0.1), createPoint(0.9, 0.2)];
    const group = { key: '=0', label: 'ferry · harbour · island', color: '--map-1', points: [0, 1, 2] };
    const [name] = createLabels([group], points, (text) => text.length);
    expect(name).toEqual({ text: 'ferry · harbour', width: 15, x: -0.8, y: 0.1 });
  });
});
