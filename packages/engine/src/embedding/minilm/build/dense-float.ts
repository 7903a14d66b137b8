import type { DenseLayer, WriteDense } from './encoder.ts';
import type { Graph, TensorName } from './graph.ts';
import { transpose } from './quantize.ts';

/** Name of the output that tells the largest magnitude of each channel of a dense layer's input. */
export function maximaOf(layer: DenseLayer): string {
  return `${layer.name}.maxima`;
}

/** Writes dense layers in single precision and lets a run answer how large their inputs were. */
export const writeFloatDense: WriteDense = (graph, input, layers) => {
  const first = layers[0] as DenseLayer;
  const maxima = graph.add('ReduceMax', [graph.add('Abs', [input])], { axes: [0], keepdims: 0 });
  graph.output(maximaOf(first), maxima, [first.inputs]);
  return layers.map((layer) => writeOne(graph, input, layer));
};

function writeOne(graph: Graph, input: TensorName, { name, inputs, outputs, weight, bias }: DenseLayer): TensorName {
  const weights = graph.constant(`${name}.weight`, [inputs, outputs], transpose(weight, inputs));
  return graph.add('Add', [graph.add('MatMul', [input, weights]), graph.constant(`${name}.bias`, [outputs], bias)]);
}
