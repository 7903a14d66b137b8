/**
 * A quantized vector: its components as signed bytes, then the step between levels as a 32-bit little-endian float.
 * Component i is `byte i * step`. Cosines differ by about .001 from cosines of 32-bit floats.
 */
export type Int8Vector = Uint8Array;

const STEP_BYTES = 4;

/** Returns the size of a quantized vector in bytes. */
export function getInt8Bytes(dimensions: number): number {
  return dimensions + STEP_BYTES;
}

/** Quantizes a vector symmetrically to 8 bits; the component with the largest absolute value becomes 127 or -127. */
export function toInt8(vector: Float32Array): Int8Vector {
  let largest = 0;
  for (const component of vector) largest = Math.max(largest, Math.abs(component));
  const step = largest / 127;
  const bytes = new Uint8Array(getInt8Bytes(vector.length));
  const components = new Int8Array(bytes.buffer, 0, vector.length);
  if (step > 0) for (let i = 0; i < vector.length; i++) components[i] = Math.round((vector[i] as number) / step);
  new DataView(bytes.buffer).setFloat32(vector.length, step, true);
  return bytes;
}

/** Returns the signed components without copying. */
export function getComponents(vector: Int8Vector): Int8Array {
  return new Int8Array(vector.buffer, vector.byteOffset, vector.length - STEP_BYTES);
}

export function getStep(vector: Int8Vector): number {
  return new DataView(vector.buffer, vector.byteOffset + vector.length - STEP_BYTES).getFloat32(0, true);
}

/** Dequantizes a vector. */
export function toFloats(vector: Int8Vector): Float32Array {
  const step = getStep(vector);
  return Float32Array.from(getComponents(vector), (component) => component * step);
}

/** Returns the inner product of a float vector and a quantized vector of the same dimensions. */
export function dotInt8(query: Float32Array, vector: Int8Vector): number {
  const components = getComponents(vector);
  let sum = 0;
  for (let i = 0; i < components.length; i++) sum += (query[i] as number) * (components[i] as number);
  return sum * getStep(vector);
}
