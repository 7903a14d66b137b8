/** Bytes after the components of an `Int8Vector`: its step as a 32-bit float. */
const STEP_BYTES = 4;

/** Vectors of unit length. Component `i` of row `row` is `components[row * stride + i] * steps[row]`. */
export interface VectorRows {
  count: number;
  dimensions: number;
  stride: number;
  components: Int8Array;
  steps: Float64Array;
}

/** Reads vectors, `Int8Vector`s one after the other, without copying them. A zero vector has the step 0. */
export function toVectorRows(vectors: Uint8Array, count: number): VectorRows {
  const stride = count === 0 ? STEP_BYTES : vectors.length / count;
  const dimensions = stride - STEP_BYTES;
  const components = new Int8Array(vectors.buffer, vectors.byteOffset, vectors.length);
  const steps = new Float64Array(count);
  for (let row = 0; row < count; row++) {
    let squares = 0;
    const start = row * stride;
    for (let i = 0; i < dimensions; i++) squares += (components[start + i] as number) ** 2;
    steps[row] = squares === 0 ? 0 : 1 / Math.sqrt(squares);
  }
  return { count, dimensions, stride, components, steps };
}
