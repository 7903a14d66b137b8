import { readFileSync } from 'node:fs';

/** A tensor in row-major order. */
interface WeightTensor {
  shape: number[];
  values: Float32Array;
}

interface TensorEntry {
  dtype: string;
  shape: number[];
  data_offsets: [number, number];
}

/** Returns a tensor by its name. Throws if the tensor does not exist or is not in half precision. */
export type Weights = (name: string) => WeightTensor;

/**
 * Reads a safetensors file of half precision: eight bytes of header length, a JSON header, the tensors' bytes.
 * Format: https://huggingface.co/docs/safetensors
 */
export function readSafetensors(path: string): Weights {
  const file = readFileSync(path);
  const dataStart = 8 + Number(file.readBigUInt64LE(0));
  const header: Record<string, TensorEntry> = JSON.parse(file.toString('utf8', 8, dataStart));
  return (name) => {
    const entry = header[name];
    if (entry?.dtype !== 'F16') throw new Error(`${path} must contain the half-precision tensor ${name}`);
    const [start, end] = entry.data_offsets;
    const values = new Float32Array((end - start) / 2);
    for (let i = 0; i < values.length; i++) {
      values[i] = HALF[file.readUInt16LE(dataStart + start + 2 * i)] as number;
    }
    return { shape: entry.shape, values };
  };
}

/** The value of each IEEE 754 binary16 bit pattern. */
const HALF = Float32Array.from({ length: 2 ** 16 }, (_, bits) => fromHalf(bits));

function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
