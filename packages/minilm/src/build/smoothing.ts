import type { DenseLayer } from './encoder.ts';

/** How much of the difference between channels moves from activations to weights: best of .3 to .85 by trial. */
const STRENGTH = 0.65;

/** Below this, a channel's size says nothing. */
const SMALLEST = 1e-3;

/**
 * What each channel of an activation is divided by, and the weights that it meets multiplied by, so that the few
 * channels which run twenty times as large as the rest do not take all of the activation's 256 steps: SmoothQuant
 * (https://arxiv.org/abs/2211.10438), max|x|^s / max|w|^(1−s), here relative to its geometric mean.
 *
 * In powers of √2, so that machines whose last digits differ build the same graph.
 */
export function smoothing(maxima: Float32Array, layers: DenseLayer[]): Float32Array {
  const weights = largestWeights(layers, maxima.length);
  const exponents = Array.from(maxima, (maximum, channel) => {
    const activation = Math.log2(Math.max(maximum, SMALLEST));
    return STRENGTH * activation - (1 - STRENGTH) * Math.log2(Math.max(weights[channel] as number, SMALLEST));
  });
  const mean = exponents.reduce((sum, exponent) => sum + exponent, 0) / exponents.length;
  return Float32Array.from(exponents, (exponent) => 2 ** (Math.round(2 * (exponent - mean)) / 2));
}

function largestWeights(layers: DenseLayer[], channels: number): Float32Array {
  const largest = new Float32Array(channels);
  for (const { weight } of layers) {
    weight.forEach((value, i) => {
      const channel = i % channels;
      largest[channel] = Math.max(largest[channel] as number, Math.abs(value));
    });
  }
  return largest;
}
