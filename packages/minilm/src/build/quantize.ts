/**
 * Largest magnitude of a dense weight. Processors without VNNI add two products of an unsigned activation (up to 255)
 * and a weight in 16 signed bits, saturating: 2 · 255 · 64 = 32,640 still fits (onnxruntime #6004).
 */
export const LARGEST_WEIGHT = 64;

/** Largest magnitude of a value that is only looked up. */
const LARGEST_VALUE = 127;

/** Greatest value of unsigned 8 bits. */
const LARGEST_BYTE = 255;

/** Whole numbers and the scale of each row or column that turns them back. */
export interface Quantized {
  values: Int8Array<ArrayBuffer>;
  scales: Float32Array<ArrayBuffer>;
}

/** Symmetric, with one scale for each row. */
export function quantizeRows(matrix: Float32Array, columns: number, largest: number = LARGEST_VALUE): Quantized {
  const values = new Int8Array(matrix.length);
  const scales = new Float32Array(matrix.length / columns);
  for (let row = 0; row < scales.length; row++) {
    const start = row * columns;
    const scale = largestMagnitude(matrix.subarray(start, start + columns)) / largest || 1;
    for (let i = start; i < start + columns; i++) values[i] = Math.round((matrix[i] as number) / scale);
    scales[row] = scale;
  }
  return { values, scales };
}

/**
 * The scale and the zero point by which unsigned 8 bits reach from one value to another, within half a step; zero, which
 * has to lie between them, is exact. The scale is a power of the sixteenth root of 2, so that machines whose last digits
 * differ build the same graph; the zero point is a whole number.
 */
export function scaleBetween(least: number, greatest: number): { scale: number; zeroPoint: number } {
  const scale = 2 ** (Math.ceil(16 * Math.log2((greatest - least) / LARGEST_BYTE)) / 16);
  return { scale, zeroPoint: Math.round(-least / scale) };
}

/** A matrix with its rows and columns exchanged. */
export function transpose<T extends Float32Array | Int8Array>(matrix: T, columns: number): T {
  const rows = matrix.length / columns;
  const transposed = matrix.slice() as T;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      transposed[column * rows + row] = matrix[row * columns + column] as number;
    }
  }
  return transposed;
}

function largestMagnitude(values: Float32Array): number {
  return values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
}
