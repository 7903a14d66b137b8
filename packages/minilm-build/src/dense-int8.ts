import type { DenseLayer, WriteDense } from './encoder.ts';
import { getScale, getSmoothing, MAX_WEIGHT, quantizeRows, transpose } from './encoder.ts';
import { type Graph, NONE, type TensorName } from './graph.ts';

/** For each channel of a dense layer's input: the maximum magnitude below 0 and the maximum magnitude above 0. */
export interface InputRange {
  below: Float32Array;
  above: Float32Array;
}

/** Returns the measured range of a layer's input. For layers that share an input, the argument is the first layer. */
export type GetInputRange = (layer: DenseLayer) => InputRange;

/** Quantized values and the tensors that dequantize them. */
interface Activations {
  values: TensorName;
  scale: TensorName;
  zeroPoint: TensorName;
}

/**
 * Returns a function that writes dense layers with 8-bit activations, one scale per input tensor, and 8-bit weights,
 * one scale per output.
 *
 * The activation scale comes from calibration and not from the run, so that texts in a run do not change each other's
 * vectors. Values beyond the calibrated range are clipped.
 */
export function createInt8DenseWriter(getInputRange: GetInputRange): WriteDense {
  return (graph, input, layers) => {
    const first = layers[0] as DenseLayer;
    const { below, above } = getInputRange(first);
    const smooth = getSmoothing(
      above.map((value, i) => Math.max(value, below[i] as number)),
      layers,
    );
    const inverse = smooth.map((scale) => 1 / scale);
    const smoothed = graph.add('Mul', [input, graph.constant(`${first.name}.smoothing`, [first.inputs], inverse)]);
    const activations = quantizeActivations(graph, smoothed, -getLargest(below, inverse), getLargest(above, inverse));
    return layers.map((layer) => writeLayer(graph, activations, layer, smooth));
  };
}

function getLargest(values: Float32Array, factors: Float32Array): number {
  return values.reduce((largest, value, i) => Math.max(largest, value * (factors[i] as number)), 0);
}

function quantizeActivations(graph: Graph, input: TensorName, minimum: number, maximum: number): Activations {
  const { scale, zeroPoint } = getScale(minimum, maximum);
  const tensors = {
    scale: graph.scalar(scale),
    zeroPoint: graph.constant(`byte ${zeroPoint}`, [], Uint8Array.of(zeroPoint)),
  };
  return { values: graph.add('QuantizeLinear', [input, tensors.scale, tensors.zeroPoint]), ...tensors };
}

function writeLayer(
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
  // Uses one operator of ONNX Runtime instead of four standard operators. The runtime fuses the standard operators only
  // if the scale is computed in the run.
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
