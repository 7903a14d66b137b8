import { toInt8 } from '@memoryd/search';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRandom, getCoordinates, getEigen, getPrincipalAxes } from './principal-axes.ts';
import { toVectorRows, type VectorRows } from './vector-rows.ts';

const DIMENSIONS = 12;

/** Vectors whose variance falls from component to component, so that their axes are well determined. */
const vectors = fc.record({ seed: fc.nat(), count: fc.integer({ min: 30, max: 80 }) }).map(({ seed, count }) => {
  const getRandom = createRandom(seed);
  return Array.from({ length: count }, () =>
    Float32Array.from({ length: DIMENSIONS }, (_, i) => (getRandom() - 0.5) * 0.6 ** i + Number(i === DIMENSIONS - 1)),
  );
});

function toRows(all: readonly Float32Array[]): VectorRows {
  const packed = all.map(toInt8);
  return toVectorRows(new Uint8Array(Buffer.concat(packed)), all.length);
}

const toIndexes = ({ count }: VectorRows) => Array.from({ length: count }, (_, i) => i);

/** Returns the eigenvalues and eigenvectors (as columns) of the covariance matrix, which is computed as a whole. */
function computeDirectly({ components, steps, stride, dimensions, count }: VectorRows) {
  const values = Array.from({ length: count }, (_, row) =>
    Array.from({ length: dimensions }, (_, i) => (components[row * stride + i] as number) * (steps[row] as number)),
  );
  const mean = Array.from(
    { length: dimensions },
    (_, i) => values.reduce((sum, row) => sum + (row[i] as number), 0) / count,
  );
  const covariance = new Float64Array(dimensions * dimensions);
  for (const row of values) {
    for (let i = 0; i < dimensions; i++) {
      for (let j = 0; j < dimensions; j++) {
        const product = ((row[i] as number) - (mean[i] as number)) * ((row[j] as number) - (mean[j] as number));
        covariance[i * dimensions + j] = (covariance[i * dimensions + j] as number) + product / count;
      }
    }
  }
  return getEigen(covariance, dimensions);
}

function getVariance(coordinates: Float64Array, count: number, axis: number): number {
  const own = coordinates.filter((_, at) => at % count === axis);
  return own.reduce((sum, coordinate) => sum + coordinate ** 2, 0) / own.length;
}

describe('getPrincipalAxes', () => {
  it('finds the axes of the covariance matrix', () => {
    fc.assert(
      fc.property(vectors, (all) => {
        const rows = toRows(all);
        const direct = computeDirectly(rows);
        const principal = getPrincipalAxes(rows, toIndexes(rows));
        const coordinates = getCoordinates(rows, principal);
        for (const axis of [0, 1]) {
          const variance = getVariance(coordinates, principal.count, axis);
          expect(Math.abs(variance - (direct.values[axis] as number))).toBeLessThan(
            1e-3 * (direct.values[0] as number),
          );
        }
        const gap = (direct.values[0] as number) - (direct.values[1] as number);
        // Axes of equal variance may lie anywhere in their plane.
        fc.pre(gap > 0.1 * (direct.values[0] as number));
        let cosine = 0;
        for (let i = 0; i < DIMENSIONS; i++) {
          cosine += (principal.axes[i] as number) * (direct.vectors[i * DIMENSIONS] as number);
        }
        expect(Math.abs(cosine)).toBeGreaterThan(0.999);
      }),
    );
  });

  it('finds the same axes from any start, and again from its own result', () => {
    fc.assert(
      fc.property(vectors, (all) => {
        const rows = toRows(all);
        const first = getPrincipalAxes(rows, toIndexes(rows));
        const again = getPrincipalAxes(rows, toIndexes(rows), first.axes);
        for (let at = 0; at < 2 * DIMENSIONS; at++) expect(again.axes[at]).toBeCloseTo(first.axes[at] as number, 2);
      }),
    );
  });

  it('turns and mirrors the axes back towards earlier ones', () => {
    fc.assert(
      fc.property(
        vectors,
        fc.double({ min: 0, max: 2 * Math.PI, noNaN: true }),
        fc.boolean(),
        (all, angle, isMirrored) => {
          const rows = toRows(all);
          const first = getPrincipalAxes(rows, toIndexes(rows));
          const turned = first.axes.slice();
          for (let i = 0; i < DIMENSIONS; i++) {
            const [x, y] = [first.axes[i] as number, first.axes[DIMENSIONS + i] as number];
            turned[i] = Math.cos(angle) * x + Math.sin(angle) * y;
            turned[DIMENSIONS + i] = (isMirrored ? -1 : 1) * (Math.cos(angle) * y - Math.sin(angle) * x);
          }
          const again = getPrincipalAxes(rows, toIndexes(rows), turned);
          for (let at = 0; at < 2 * DIMENSIONS; at++) expect(again.axes[at]).toBeCloseTo(turned[at] as number, 2);
        },
      ),
    );
  });

  it('returns orthonormal axes for memories without variance', () => {
    const one = Float32Array.from({ length: DIMENSIONS }, (_, i) => Number(i === 3));
    const rows = toRows([one, one, one]);
    const { axes, count } = getPrincipalAxes(rows, [0, 1, 2]);
    expect(axes.every(Number.isFinite)).toBe(true);
    for (let axis = 0; axis < count; axis++) {
      const vector = axes.subarray(axis * DIMENSIONS, (axis + 1) * DIMENSIONS);
      expect(vector.reduce((sum, component) => sum + component ** 2, 0)).toBeCloseTo(1, 6);
    }
  });
});
