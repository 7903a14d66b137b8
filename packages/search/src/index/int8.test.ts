import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dotInt8, toInt8 } from './int8.ts';

const unitVector = fc
  .array(fc.float({ min: -1, max: 1, noNaN: true }), { minLength: 384, maxLength: 384 })
  .filter((components) => Math.hypot(...components) > 0.1)
  .map((components) => {
    const length = Math.hypot(...components);
    return Float32Array.from(components, (component) => component / length);
  });

describe('quantized vectors', () => {
  it('quantized vectors approximate the cosine of unit vectors to 0.01', () => {
    fc.assert(
      fc.property(unitVector, unitVector, (a, b) => {
        const exact = a.reduce((sum, component, i) => sum + component * (b[i] as number), 0);
        expect(Math.abs(dotInt8(a, toInt8(b)) - exact)).toBeLessThan(0.01);
      }),
    );
  });

  it('quantized vectors work at any offset of a larger buffer', () => {
    const vector = Float32Array.from({ length: 384 }, (_, i) => Math.sin(i) / 14);
    const quantised = toInt8(vector);
    const buffer = new Uint8Array(quantised.length + 3);
    buffer.set(quantised, 3);
    expect(dotInt8(vector, buffer.subarray(3))).toBe(dotInt8(vector, quantised));
  });

  it('quantized vectors preserve a zero vector', () => {
    expect(dotInt8(new Float32Array(8).fill(1), toInt8(new Float32Array(8)))).toBe(0);
  });
});
