/**
 * A vector as bytes: its components as signed bytes, then the step between them as a 32-bit little-endian float.
 * Component i is `byte i * step`. Against 32-bit floats a cosine moves by about .001.
 */
export type Int8Vector = Uint8Array;

const STEP_BYTES = 4;

/** Bytes of a vector of so many dimensions. */
export function int8Bytes(dimensions: number): number {
  return dimensions + STEP_BYTES;
}

/** Quantises a vector symmetrically to 8 bits, its largest component to 127 or -127. */
export function toInt8(vector: Float32Array): Int8Vector {
  let largest = 0;
  for (const component of vector) largest = Math.max(largest, Math.abs(component));
  const step = largest / 127;
  const bytes = new Uint8Array(int8Bytes(vector.length));
  const components = new Int8Array(bytes.buffer, 0, vector.length);
  if (step > 0) for (let i = 0; i < vector.length; i++) components[i] = Math.round((vector[i] as number) / step);
  new DataView(bytes.buffer).setFloat32(vector.length, step, true);
  return bytes;
}

/** The signed components, without copying. */
export function getComponents(vector: Int8Vector): Int8Array {
  return new Int8Array(vector.buffer, vector.byteOffset, vector.length - STEP_BYTES);
}

export function getStep(vector: Int8Vector): number {
  return new DataView(vector.buffer, vector.byteOffset + vector.length - STEP_BYTES).getFloat32(0, true);
}

/** The vector that bytes stand for. */
export function toFloats(vector: Int8Vector): Float32Array {
  const step = getStep(vector);
  return Float32Array.from(getComponents(vector), (component) => component * step);
}

/** Inner product of a float vector and a quantised one of the same dimensions. */
export function dotInt8(query: Float32Array, vector: Int8Vector): number {
  const components = getComponents(vector);
  let sum = 0;
  for (let i = 0; i < components.length; i++) sum += (query[i] as number) * (components[i] as number);
  return sum * getStep(vector);
}
