import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VectorIndex } from './vector-index.ts';

const DIMENSIONS = 64;
const everything = () => true;

const vector = fc.array(fc.double({ min: -1, max: 1, noNaN: true }), {
  minLength: DIMENSIONS,
  maxLength: DIMENSIONS,
});

function hamming(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, component, i) => sum + (component > 0 !== (b[i] as number) > 0 ? 1 : 0), 0);
}

function indexOf(vectors: readonly number[][]): VectorIndex {
  const index = new VectorIndex(DIMENSIONS);
  vectors.forEach((components, ordinal) => {
    index.add(ordinal, components);
  });
  return index;
}

describe('the vector index', () => {
  it('answers the nearest codes, nearest first, as a full sort would', () => {
    fc.assert(
      fc.property(
        fc.array(vector, { minLength: 1, maxLength: 60 }),
        vector,
        fc.integer({ min: 1, max: 20 }),
        (vectors, query, count) => {
          const near = indexOf(vectors).nearest(Float32Array.from(query), count, everything);
          const query32 = Array.from(Float32Array.from(query));
          const distances = vectors.map((components) => hamming(components, query32));
          const expected = distances.toSorted((a, b) => a - b).slice(0, near.length);
          expect(near.map((ordinal) => distances[ordinal])).toEqual(expected);
          expect(near.length).toBeGreaterThanOrEqual(Math.min(count, vectors.length));
          expect(near.length).toBeLessThanOrEqual(count * 2);
        },
      ),
    );
  });

  it('answers as if what was removed had never been there', () => {
    fc.assert(
      fc.property(
        fc.array(vector, { minLength: 1, maxLength: 40 }),
        fc.array(fc.nat({ max: 39 })),
        vector,
        (vectors, removed, query) => {
          const index = indexOf(vectors);
          for (const ordinal of removed) index.remove(ordinal);
          const near = index.nearest(Float32Array.from(query), vectors.length, everything);
          const left = vectors.map((_, ordinal) => ordinal).filter((ordinal) => !removed.includes(ordinal));
          expect(near.toSorted((a, b) => a - b)).toEqual(left);
        },
      ),
    );
  });

  it('removes all vectors of a memory, wherever they stand', () => {
    const index = new VectorIndex(DIMENSIONS);
    const one = new Array(DIMENSIONS).fill(1);
    for (const ordinal of [7, 1, 7, 2, 7]) index.add(ordinal, one);
    index.remove(7);
    expect(index.nearest(Float32Array.from(one), 10, everything).toSorted()).toEqual([1, 2]);
    index.add(7, one);
    expect(index.nearest(Float32Array.from(one), 10, everything).toSorted()).toEqual([1, 2, 7]);
  });

  it('takes only what is allowed before it takes the nearest', () => {
    const index = new VectorIndex(DIMENSIONS);
    for (let ordinal = 0; ordinal < 3000; ordinal++)
      index.add(ordinal, new Array(DIMENSIONS).fill(ordinal === 5 ? -1 : 1));
    const near = index.nearest(new Float32Array(DIMENSIONS).fill(1), 1, (ordinal) => ordinal === 5);
    expect(near).toEqual([5]);
  });

  it('is empty-handed when it is empty', () => {
    expect(new VectorIndex(DIMENSIONS).nearest(new Float32Array(DIMENSIONS), 5, everything)).toEqual([]);
  });
});
