import type { DenseLayer, WriteDense } from './encoder.ts';
import { MAX_WEIGHT, quantizeRows, scaleBetween, smoothing, transpose } from './encoder.ts';
import { type Graph, NONE, type TensorName } from './graph.ts';

/** How far each channel of a dense layer's input reaches below and above 0. */
export interface Reach {
  below: Float32Array;
  above: Float32Array;
}

/** How far a layer's input reaches over texts of many kinds. */
export type GetReach = (layer: DenseLayer) => Reach;

/** Values of 8 bits, and the tensors that turn them back. */
interface Activations {
  values: TensorName;
  scale: TensorName;
  zeroPoint: TensorName;
}

/**
 * Writes dense layers of 8-bit activations, one scale a layer, and 8-bit weights, one scale an output.
 *
 * The activations' scale comes from texts that were measured and not from the run, so that no text changes the vector of
 * another that shares its run. What lies beyond all that was measured is taken for the outermost.
 */
export function int8DenseWriter(getReach: GetReach): WriteDense {
  return (graph, input, layers) => {
    const first = layers[0] as DenseLayer;
    const { below, above } = getReach(first);
    const smooth = smoothing(
      above.map((value, i) => Math.max(value, below[i] as number)),
      layers,
    );
    const inverse = smooth.map((scale) => 1 / scale);
    const smoothed = graph.add('Mul', [input, graph.constant(`${first.name}.smoothing`, [first.inputs], inverse)]);
    const activations = quantizeActivations(graph, smoothed, -getLargest(below, inverse), getLargest(above, inverse));
    return layers.map((layer) => writeOne(graph, activations, layer, smooth));
  };
}

function getLargest(values: Float32Array, factors: Float32Array): number {
  return values.reduce((largest, value, i) => Math.max(largest, value * (factors[i] as number)), 0);
}

function quantizeActivations(graph: Graph, input: TensorName, least: number, greatest: number): Activations {
  const { scale, zeroPoint } = scaleBetween(least, greatest);
  const tensors = {
    scale: graph.scalar(scale),
    zeroPoint: graph.constant(`byte ${zeroPoint}`, [], Uint8Array.of(zeroPoint)),
  };
  return { values: graph.add('QuantizeLinear', [input, tensors.scale, tensors.zeroPoint]), ...tensors };
}

function writeOne(
  graph: Graph,
  activations: Activations,
  { name, inputs, outputs, weight, bias }: DenseLayer,
  smooth: Float32Array,
): TensorName {
  const { values, scales } = quantizeRows(
    weight.map((value, i) => value * (smooth[i % inputs] as number)),
    inputs,
    MAX_WEIGHT,
  );
  // One operator of the runtime's own where the standard has four, which it puts together only if a run has the scale.
  return graph.add('com.microsoft::MatMulIntegerToFloat', [
    activations.values,
    graph.constant(`${name}.weight`, [inputs, outputs], transpose(values, inputs)),
    activations.scale,
    graph.constant(`${name}.scales`, [outputs], scales),
    activations.zeroPoint,
    NONE,
    graph.constant(`${name}.bias`, [outputs], bias),
  ]);
}
