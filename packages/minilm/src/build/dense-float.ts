import type { DenseLayer, WriteDense } from './encoder.ts';
import type { Graph, TensorName } from './graph.ts';
import { transpose } from './quantize.ts';

/** Names of the outputs that tell how far each channel of a dense layer's input reaches below and above 0. */
export function reachOutputs({ name }: DenseLayer): { below: TensorName; above: TensorName } {
  return { below: `${name}.below`, above: `${name}.above` };
}

/** Writes dense layers in single precision and lets a run answer how far their inputs reached. */
export const writeFloatDense: WriteDense = (graph, input, layers) => {
  const first = layers[0] as DenseLayer;
  const { below, above } = reachOutputs(first);
  graph.output(below, writeGreatest(graph, graph.add('Neg', [input])), [first.inputs]);
  graph.output(above, writeGreatest(graph, input), [first.inputs]);
  return layers.map((layer) => writeOne(graph, input, layer));
};

function writeGreatest(graph: Graph, input: TensorName): TensorName {
  return graph.add('ReduceMax', [input], { axes: [0], keepdims: 0 });
}

function writeOne(graph: Graph, input: TensorName, { name, inputs, outputs, weight, bias }: DenseLayer): TensorName {
  const weights = graph.constant(`${name}.weight`, [inputs, outputs], transpose(weight, inputs));
  return graph.add('Add', [graph.add('MatMul', [input, weights]), graph.constant(`${name}.bias`, [outputs], bias)]);
}
