import type { VectorRows } from './vector-rows.ts';

/** Axes that are computed: the two of the map, and others by which clusters are told apart. */
const MAX_AXES = 8;

/** Steps of the iteration. A step reads all rows twice. */
const MAX_STEPS = 40;

/** Maximum error of an axis of the map, as a share of the variance along the first axis. */
const TOLERANCE = 1e-3;

/** Axes of unit length, and the mean of the rows. Component `i` of axis `axis` is `axes[axis * dimensions + i]`. */
export interface Principal {
  axes: Float64Array;
  count: number;
  mean: Float64Array;
}

/**
 * Returns the principal axes of rows, that of the most variance first, by subspace iteration with Rayleigh-Ritz
 * projection (Saad, Numerical Methods for Large Eigenvalue Problems, 2011, section 5.2), which needs no covariance
 * matrix.
 *
 * With `before`, the iteration starts from the axes of an earlier call, and the first two are turned within their plane
 * and mirrored, so that they are as near to the earlier ones as possible: a map stays as it was when memories are added.
 *
 * @param sample the rows from which the axes are computed
 */
export function getPrincipalAxes(rows: VectorRows, sample: readonly number[], before?: Float64Array): Principal {
  const { dimensions } = rows;
  const count = Math.min(MAX_AXES, dimensions);
  const mean = getMean(rows, sample);
  let axes = startAxes(count, dimensions, before);
  for (let step = 0; step < MAX_STEPS; step++) {
    const { products, projected } = multiply(rows, sample, { axes, count, mean });
    const { values, vectors } = getEigen(projected, count);
    const found = combine(axes, vectors, count, dimensions);
    const next = combine(products, vectors, count, dimensions);
    axes = found;
    if (getError(found, next, values, dimensions) <= TOLERANCE * Math.max(values[0] ?? 0, Number.MIN_VALUE)) break;
    axes = orthonormalize(next, count, dimensions);
  }
  const isComparable = before?.length === axes.length && count >= 2;
  if (isComparable) turnTowards(axes, before, dimensions);
  else mirror(axes, count, dimensions);
  return { axes, count, mean };
}

/** Returns the coordinates of all rows on the axes. Coordinate `axis` of row `row` is at `row * count + axis`. */
export function getCoordinates(rows: VectorRows, principal: Principal): Float64Array {
  const { count } = principal;
  const coordinates = new Float64Array(rows.count * count);
  const getRow = rowProjector(rows, principal);
  for (let row = 0; row < rows.count; row++) coordinates.set(getRow(row), row * count);
  return coordinates;
}

/** Returns a function that returns the coordinates of a row. It returns the same array each time. */
function rowProjector({ components, steps, stride, dimensions }: VectorRows, { axes, count, mean }: Principal) {
  const interleaved = new Float64Array(dimensions * count);
  const offsets = new Float64Array(count);
  for (let axis = 0; axis < count; axis++) {
    for (let i = 0; i < dimensions; i++) {
      const component = axes[axis * dimensions + i] as number;
      interleaved[i * count + axis] = component;
      offsets[axis] = (offsets[axis] as number) + component * (mean[i] as number);
    }
  }
  const sums = new Float64Array(count);
  return (row: number): Float64Array => {
    sums.fill(0);
    const start = row * stride;
    for (let i = 0, at = 0; i < dimensions; i++, at += count) {
      const component = components[start + i] as number;
      if (component === 0) continue;
      for (let axis = 0; axis < count; axis++) {
        sums[axis] = (sums[axis] as number) + component * (interleaved[at + axis] as number);
      }
    }
    const step = steps[row] as number;
    for (let axis = 0; axis < count; axis++) sums[axis] = (sums[axis] as number) * step - (offsets[axis] as number);
    return sums;
  };
}

function getMean({ components, steps, stride, dimensions }: VectorRows, sample: readonly number[]): Float64Array {
  const mean = new Float64Array(dimensions);
  for (const row of sample) {
    const step = (steps[row] as number) / sample.length;
    for (let i = 0; i < dimensions; i++) {
      mean[i] = (mean[i] as number) + step * (components[row * stride + i] as number);
    }
  }
  return mean;
}

/**
 * Returns the products of the covariance matrix with the axes, and the covariance of the coordinates on the axes
 * (`count` × `count`).
 */
function multiply(rows: VectorRows, sample: readonly number[], principal: Principal) {
  const { components, steps, stride, dimensions } = rows;
  const { count, mean } = principal;
  const getRow = rowProjector(rows, principal);
  const interleaved = new Float64Array(dimensions * count);
  const projected = new Float64Array(count * count);
  const total = new Float64Array(count);
  const scaled = new Float64Array(count);
  for (const row of sample) {
    const coordinates = getRow(row);
    addProducts(projected, coordinates, sample.length);
    const step = steps[row] as number;
    for (let axis = 0; axis < count; axis++) {
      const coordinate = coordinates[axis] as number;
      total[axis] = (total[axis] as number) + coordinate;
      scaled[axis] = coordinate * step;
    }
    const start = row * stride;
    for (let i = 0, at = 0; i < dimensions; i++, at += count) {
      const component = components[start + i] as number;
      for (let axis = 0; axis < count; axis++) {
        interleaved[at + axis] = (interleaved[at + axis] as number) + component * (scaled[axis] as number);
      }
    }
  }
  const products = new Float64Array(dimensions * count);
  for (let axis = 0; axis < count; axis++) {
    for (let i = 0; i < dimensions; i++) {
      const sum = (interleaved[i * count + axis] as number) - (total[axis] as number) * (mean[i] as number);
      products[axis * dimensions + i] = sum / Math.max(1, sample.length);
    }
  }
  return { products, projected };
}

/** Adds the product of each pair of coordinates of one of `size` rows to their covariance. */
function addProducts(covariance: Float64Array, coordinates: Float64Array, size: number): void {
  const count = coordinates.length;
  for (let axis = 0; axis < count; axis++) {
    for (let other = 0; other < count; other++) {
      const product = (coordinates[axis] as number) * (coordinates[other] as number);
      covariance[axis * count + other] = (covariance[axis * count + other] as number) + product / size;
    }
  }
}

/** Returns the largest distance between a product of an axis of the map and the axis times its variance. */
function getError(axes: Float64Array, products: Float64Array, values: Float64Array, dimensions: number): number {
  let largest = 0;
  for (let axis = 0; axis < Math.min(2, values.length); axis++) {
    let squares = 0;
    for (let at = axis * dimensions; at < (axis + 1) * dimensions; at++) {
      squares += ((products[at] as number) - (values[axis] as number) * (axes[at] as number)) ** 2;
    }
    largest = Math.max(largest, Math.sqrt(squares));
  }
  return largest;
}

/** Returns linear combinations of vectors: combination `k` has the weights in column `k`. */
function combine(vectors: Float64Array, weights: Float64Array, count: number, dimensions: number): Float64Array {
  const combined = new Float64Array(count * dimensions);
  for (let k = 0; k < count; k++) {
    for (let axis = 0; axis < count; axis++) {
      const weight = weights[axis * count + k] as number;
      for (let i = 0; i < dimensions; i++) {
        const at = k * dimensions + i;
        combined[at] = (combined[at] as number) + weight * (vectors[axis * dimensions + i] as number);
      }
    }
  }
  return combined;
}

/** Returns earlier axes, or axes of pseudorandom numbers that are the same in every process. */
function startAxes(count: number, dimensions: number, before: Float64Array | undefined): Float64Array {
  if (before?.length === count * dimensions) return before.slice();
  const getRandom = createRandom();
  const random = Float64Array.from({ length: count * dimensions }, () => getRandom() - 0.5);
  return orthonormalize(random, count, dimensions);
}

/** Returns a function that returns the same sequence of numbers from 0 to 1 in every process (Numerical Recipes LCG). */
export function createRandom(seed = 1): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Makes vectors orthonormal in place (modified Gram-Schmidt). A vector that depends on others is replaced. */
function orthonormalize(vectors: Float64Array, count: number, dimensions: number): Float64Array {
  for (let k = 0; k < count; k++) {
    const vector = vectors.subarray(k * dimensions, (k + 1) * dimensions);
    let norm = removeOthers(vectors, k, dimensions);
    for (let i = 0; i < dimensions && norm < 1e-9; i++) {
      vector.fill(0);
      vector[i] = 1;
      norm = removeOthers(vectors, k, dimensions);
      // Nearly all of a unit vector may lie in the span of the others.
      if (norm < 0.1) norm = 0;
    }
    for (let i = 0; i < dimensions; i++) vector[i] = (vector[i] as number) / norm;
  }
  return vectors;
}

/** Subtracts the part of vector `k` along the vectors before. Returns the rest's share of the vector, or 0 for a zero vector. */
function removeOthers(vectors: Float64Array, k: number, dimensions: number): number {
  const vector = vectors.subarray(k * dimensions, (k + 1) * dimensions);
  const before = Math.sqrt(dot(vector, vector));
  if (before === 0) return 0;
  for (let i = 0; i < dimensions; i++) vector[i] = (vector[i] as number) / before;
  // Twice, because the first time leaves rounding errors.
  for (let turn = 0; turn < 2; turn++) {
    for (let other = 0; other < k; other++) {
      const axis = vectors.subarray(other * dimensions, (other + 1) * dimensions);
      const along = dot(vector, axis);
      for (let i = 0; i < dimensions; i++) vector[i] = (vector[i] as number) - along * (axis[i] as number);
    }
  }
  return Math.sqrt(dot(vector, vector));
}

function dot(one: Float64Array, other: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < one.length; i++) sum += (one[i] as number) * (other[i] as number);
  return sum;
}

/** Sweeps of the Jacobi method. A matrix of this size needs at most about seven. */
const MAX_SWEEPS = 30;

/**
 * Returns the eigenvalues of a symmetric matrix, the largest first, and its eigenvectors as columns, by the Jacobi method
 * (Golub and Van Loan, Matrix Computations, section 8.5).
 */
export function getEigen(matrix: Float64Array, size: number): { values: Float64Array; vectors: Float64Array } {
  const a = matrix.slice();
  const vectors = new Float64Array(size * size);
  for (let i = 0; i < size; i++) vectors[i * size + i] = 1;
  for (let sweep = 0; sweep < MAX_SWEEPS; sweep++) {
    let isDiagonal = true;
    for (let p = 0; p < size; p++) {
      for (let q = p + 1; q < size; q++) {
        const rotation = getRotation(a, size, p, q);
        if (!rotation) continue;
        isDiagonal = false;
        rotateColumns(a, size, rotation);
        rotateRows(a, size, rotation);
        rotateColumns(vectors, size, rotation);
      }
    }
    if (isDiagonal) break;
  }
  return sortEigen(a, vectors, size);
}

/** Returns the diagonal of a matrix and the columns of another, both in the order of the diagonal, the largest first. */
function sortEigen(a: Float64Array, vectors: Float64Array, size: number) {
  const order = Array.from({ length: size }, (_, i) => i).sort(
    (i, j) => getDiagonal(a, size, j) - getDiagonal(a, size, i),
  );
  const sorted = new Float64Array(size * size);
  for (const [to, from] of order.entries()) {
    for (let row = 0; row < size; row++) sorted[row * size + to] = vectors[row * size + from] as number;
  }
  return { values: Float64Array.from(order, (i) => getDiagonal(a, size, i)), vectors: sorted };
}

/** Returns the rotation that makes an element of a symmetric matrix zero; undefined if it is zero. */
function getRotation(matrix: Float64Array, size: number, p: number, q: number): Rotation | undefined {
  const off = matrix[p * size + q] as number;
  const [first, second] = [getDiagonal(matrix, size, p), getDiagonal(matrix, size, q)];
  if (Math.abs(off) <= 1e-15 * (Math.abs(first) + Math.abs(second))) return undefined;
  const theta = (second - first) / (2 * off);
  const tangent = (theta >= 0 ? 1 : -1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const cosine = 1 / Math.sqrt(tangent * tangent + 1);
  return { p, q, cosine, sine: tangent * cosine };
}

function getDiagonal(matrix: Float64Array, size: number, i: number): number {
  return matrix[i * size + i] as number;
}

interface Rotation {
  p: number;
  q: number;
  cosine: number;
  sine: number;
}

function rotateColumns(matrix: Float64Array, size: number, { p, q, cosine, sine }: Rotation): void {
  for (let row = 0; row < size; row++) rotate(matrix, row * size + p, row * size + q, cosine, sine);
}

function rotateRows(matrix: Float64Array, size: number, { p, q, cosine, sine }: Rotation): void {
  for (let column = 0; column < size; column++) rotate(matrix, p * size + column, q * size + column, cosine, sine);
}

function rotate(values: Float64Array, one: number, other: number, cosine: number, sine: number): void {
  const [x, y] = [values[one] as number, values[other] as number];
  values[one] = cosine * x - sine * y;
  values[other] = sine * x + cosine * y;
}

/** Mirrors each axis so that its component of the largest absolute value is positive. */
function mirror(axes: Float64Array, count: number, dimensions: number): void {
  for (let axis = 0; axis < count; axis++) {
    const vector = axes.subarray(axis * dimensions, (axis + 1) * dimensions);
    const largest = vector.reduce((most, component) => (Math.abs(component) > Math.abs(most) ? component : most), 0);
    if (largest < 0) for (let i = 0; i < dimensions; i++) vector[i] = -(vector[i] as number);
  }
}

/**
 * Turns the first two axes within their plane, and mirrors them, so that they are as near to earlier axes as possible
 * (orthogonal Procrustes problem).
 */
function turnTowards(axes: Float64Array, before: Float64Array, dimensions: number): void {
  const [first, second] = [axes.subarray(0, dimensions), axes.subarray(dimensions, 2 * dimensions)];
  const [earlierFirst, earlierSecond] = [before.subarray(0, dimensions), before.subarray(dimensions, 2 * dimensions)];
  const [a, b] = [dot(first, earlierFirst), dot(first, earlierSecond)];
  const [c, d] = [dot(second, earlierFirst), dot(second, earlierSecond)];
  const isMirrored = a * d - b * c < 0;
  const angle = isMirrored ? Math.atan2(b + c, a - d) : Math.atan2(c - b, a + d);
  const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
  for (let i = 0; i < dimensions; i++) {
    const [x, y] = [first[i] as number, second[i] as number];
    first[i] = cosine * x + sine * y;
    second[i] = isMirrored ? sine * x - cosine * y : cosine * y - sine * x;
  }
}
