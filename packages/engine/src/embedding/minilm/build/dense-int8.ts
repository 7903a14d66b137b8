import type { DenseLayer, WriteDense } from './encoder.ts';
import type { Graph, TensorName } from './graph.ts';
import { LARGEST_WEIGHT, quantizeRows, transpose } from './quantize.ts';
import { smoothing } from './smoothing.ts';

/** The largest magnitude of each channel of a dense layer's input. */
export type Maxima = (layer: DenseLayer) => Float32Array;

/** Writes dense layers of 8-bit activations, whose scale is that of the run, and 8-bit weights, one scale an output. */
export function int8DenseWriter(maxima: Maxima): WriteDense {
  return (graph, input, layers) => {
    const first = layers[0] as DenseLayer;
    const smooth = smoothing(maxima(first), layers);
    const inverse = graph.constant(
      `${first.name}.smoothing`,
      [first.inputs],
      smooth.map((scale) => 1 / scale),
    );
    const activations = graph.addMany('DynamicQuantizeLinear', 3, [graph.add('Mul', [input, inverse])]);
    return layers.map((layer) => writeOne(graph, activations, layer, smooth));
  };
}

function writeOne(
  graph: Graph,
  [activation, scale, zeroPoint]: TensorName[],
  { name, inputs, outputs, weight, bias }: DenseLayer,
  smooth: Float32Array,
): TensorName {
  const { values, scales } = quantizeRows(
    weight.map((value, i) => value * (smooth[i % inputs] as number)),
    inputs,
    LARGEST_WEIGHT,
  );
  const weights = graph.constant(`${name}.weight`, [inputs, outputs], transpose(values, inputs));
  const product = graph.add('MatMulInteger', [activation as TensorName, weights, zeroPoint as TensorName]);
  const outputScales = graph.add('Mul', [scale as TensorName, graph.constant(`${name}.scales`, [outputs], scales)]);
  const real = graph.add('Mul', [graph.add('Cast', [product], { to: 1 }), outputScales]);
  return graph.add('Add', [real, graph.constant(`${name}.bias`, [outputs], bias)]);
}
