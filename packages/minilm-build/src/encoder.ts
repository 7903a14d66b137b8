import type { Graph, TensorName } from './graph.ts';
import type { Weights } from './safetensors.ts';

/** Migration strength of SmoothQuant (`s` in `getSmoothing`): the best of .3 to .85 in trials. */
const STRENGTH = 0.65;

/** Smaller magnitudes of a channel are raised to this value, because the logarithm of 0 is undefined. */
const MIN_CHANNEL_SIZE = 1e-3;

/**
 * Returns one factor per activation channel, as in SmoothQuant (https://arxiv.org/abs/2211.10438). The activations of a
 * channel are divided by the factor, and the weights of the channel are multiplied by the factor. Without the factors,
 * a few channels that are twenty times as large as the rest would take most of the 256 steps of an activation. A factor
 * is max|x|^s / max|w|^(1−s), divided by the geometric mean over all channels.
 *
 * Factors are powers of √2, so that machines that differ in the last digits build the same graph.
 */
export function getSmoothing(maxima: Float32Array, layers: DenseLayer[]): Float32Array {
  const weights = getLargestWeights(layers, maxima.length);
  const exponents = Array.from(maxima, (maximum, channel) => {
    const activation = Math.log2(Math.max(maximum, MIN_CHANNEL_SIZE));
    return STRENGTH * activation - (1 - STRENGTH) * Math.log2(Math.max(weights[channel] as number, MIN_CHANNEL_SIZE));
  });
  const mean = exponents.reduce((sum, exponent) => sum + exponent, 0) / exponents.length;
  return Float32Array.from(exponents, (exponent) => 2 ** (Math.round(2 * (exponent - mean)) / 2));
}

function getLargestWeights(layers: DenseLayer[], channels: number): Float32Array {
  const largest = new Float32Array(channels);
  for (const { weight } of layers) {
    weight.forEach((value, i) => {
      const channel = i % channels;
      largest[channel] = Math.max(largest[channel] as number, Math.abs(value));
    });
  }
  return largest;
}

/**
 * Maximum magnitude of a dense weight. Processors without VNNI add two products of an unsigned activation (up to 255)
 * and a weight in 16 signed bits, saturating: 2 · 255 · 64 = 32,640 still fits (onnxruntime #6004).
 */
export const MAX_WEIGHT = 64;

/** Maximum magnitude of a quantized value that is only looked up, such as a word embedding. */
const MAX_VALUE = 127;

const MAX_BYTE = 255;

/** Quantized matrix: integers, and one scale per row to dequantize the integers. */
interface Quantized {
  values: Int8Array<ArrayBuffer>;
  scales: Float32Array<ArrayBuffer>;
}

/** Quantizes a matrix symmetrically with one scale per row. */
export function quantizeRows(matrix: Float32Array, columns: number, largest: number = MAX_VALUE): Quantized {
  const values = new Int8Array(matrix.length);
  const scales = new Float32Array(matrix.length / columns);
  for (let row = 0; row < scales.length; row++) {
    const start = row * columns;
    const scale = getLargestMagnitude(matrix.subarray(start, start + columns)) / largest || 1;
    for (let i = start; i < start + columns; i++) values[i] = Math.round((matrix[i] as number) / scale);
    scales[row] = scale;
  }
  return { values, scales };
}

/**
 * Returns the scale and zero point with which unsigned 8 bits cover a range, within half a step. The range must include
 * 0, which is represented exactly. The scale is a power of the sixteenth root of 2, so that machines that differ in the
 * last digits build the same graph; the zero point is an integer.
 */
export function getScale(minimum: number, maximum: number): { scale: number; zeroPoint: number } {
  const scale = 2 ** (Math.ceil(16 * Math.log2((maximum - minimum) / MAX_BYTE)) / 16);
  return { scale, zeroPoint: Math.round(-minimum / scale) };
}

export function transpose<T extends Float32Array | Int8Array>(matrix: T, columns: number): T {
  const rows = matrix.length / columns;
  const transposed = matrix.slice() as T;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      transposed[column * rows + row] = matrix[row * columns + column] as number;
    }
  }
  return transposed;
}

function getLargestMagnitude(values: Float32Array): number {
  return values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
}

// `DIMENSIONS`, `LAYERS`, `HEADS` and `LAYER_NORM_EPSILON` are values from the configuration of all-MiniLM-L6-v2.
export const DIMENSIONS = 384;
const LAYERS = 6;
const HEADS = 12;
const HEAD_SIZE = DIMENSIONS / HEADS;
const LAYER_NORM_EPSILON = 1e-12;

/** Shape of a value for each token of each text. */
const GRID = ['longest', 'texts'];

/** Amount by which attention scores of padding are lowered, so that their exponential is 0. */
const PADDING_PENALTY = 1e4;

/** Maximum tokens of a text in a run, including the markers at both ends. */
export const MAX_TOKENS = 256;

/** A dense layer's weight, one row of `inputs` numbers for each output, and bias. */
export interface DenseLayer {
  name: string;
  inputs: number;
  outputs: number;
  weight: Float32Array;
  bias: Float32Array;
}

/** Writes dense layers that share an input, and returns their output names. */
export type WriteDense = (graph: Graph, input: TensorName, layers: DenseLayer[]) => TensorName[];

/** Tensors that the layers of a graph share in addition to their states. */
interface Grid {
  /** Shape of a layer's rows in attention: tokens, texts times heads, head size. */
  heads: TensorName;
  /** Amounts by which attention scores are lowered, for each text's heads and each token. */
  penalties: TensorName;
  /** 1 for each token, 0 for padding. */
  kept: TensorName;
}

/**
 * Writes the encoder. Its inputs are `ids`, the token ids of texts, and `kept`, 1 for each token and 0 for padding. Its
 * output `vectors` is the mean of each text's last hidden states at unit length. The architecture is BERT's
 * (https://arxiv.org/abs/1810.04805), the pooling that of Sentence-BERT (https://arxiv.org/abs/1908.10084). Inputs have
 * a row for each token and a column for each text, so that attention treats texts like heads without transposing a
 * tensor.
 *
 * @param graphs graphs among which the layers are divided evenly; every graph except the last has an output `hidden`,
 * which is the input of the next graph
 * @param writeMore writes more outputs of the last hidden states, one row of `DIMENSIONS` numbers for each place of
 * `ids`
 */
export function writeEncoder(
  graphs: readonly Graph[],
  weights: Weights,
  writeDense: WriteDense,
  writeMore: (graph: Graph, hidden: TensorName) => void = () => {},
): void {
  const states = ['tokens', DIMENSIONS];
  const layersEach = LAYERS / graphs.length;
  for (const [n, graph] of graphs.entries()) {
    const grid = writeGrid(graph);
    let hidden =
      n === 0
        ? writeEmbeddings(graph, weights, graph.input('ids', 'int32', GRID))
        : graph.input('hidden', 'float', states);
    for (let i = n * layersEach; i < (n + 1) * layersEach; i++) {
      hidden = writeLayer(graph, weights, writeDense, `encoder.layer.${i}`, hidden, grid);
    }
    if (n < graphs.length - 1) graph.output('hidden', hidden, states);
    else {
      graph.output('vectors', writePooling(graph, hidden, grid), ['texts', DIMENSIONS]);
      writeMore(graph, hidden);
    }
  }
}

function writeGrid(graph: Graph): Grid {
  const kept = graph.input('kept', 'float', GRID);
  const longest = writeLongest(graph, kept);
  const penalties = graph.add('Mul', [graph.add('Sub', [kept, graph.scalar(1)]), graph.scalar(PADDING_PENALTY)]);
  const ofTexts = graph.add('Unsqueeze', [graph.add('Transpose', [penalties], { perm: [1, 0] }), graph.integers(1)]);
  const ofHeads = graph.add('Expand', [ofTexts, graph.integers(1, HEADS, 1)]);
  return {
    heads: graph.add('Concat', [longest, graph.integers(-1, HEAD_SIZE)], { axis: 0 }),
    penalties: graph.add('Reshape', [ofHeads, graph.add('Concat', [graph.integers(-1, 1), longest], { axis: 0 })]),
    kept,
  };
}

/** Writes the token count of the longest text, as a list of one number. */
function writeLongest(graph: Graph, ofGrid: TensorName): TensorName {
  return graph.add('Slice', [graph.add('Shape', [ofGrid]), graph.integers(0), graph.integers(1)]);
}

// Sums the states without dividing by their number, because the normalized sum equals the normalized mean.
function writePooling(graph: Graph, hidden: TensorName, { kept }: Grid): TensorName {
  const shape = graph.add('Concat', [graph.add('Shape', [kept]), graph.integers(DIMENSIONS)], { axis: 0 });
  const states = graph.add('Mul', [
    graph.add('Reshape', [hidden, shape]),
    graph.add('Unsqueeze', [kept, graph.integers(2)]),
  ]);
  const sums = graph.add('ReduceSum', [states, graph.integers(0)], { keepdims: 0 });
  return graph.add('LpNormalization', [sums], { axis: -1, p: 2 });
}

function writeEmbeddings(graph: Graph, weights: Weights, ids: TensorName): TensorName {
  const words = weights('embeddings.word_embeddings.weight');
  const wordCount = words.values.length / DIMENSIONS;
  const { values, scales } = quantizeRows(words.values, DIMENSIONS);
  const table = graph.constant('embeddings.words', [wordCount, DIMENSIONS], values);
  const rowScales = graph.constant('embeddings.words.scales', [wordCount, 1], scales);
  const row = graph.add('Cast', [graph.add('Gather', [table, ids])], { to: 1 });
  const word = graph.add('Mul', [row, graph.add('Gather', [rowScales, ids])]);

  const positions = graph.constant('embeddings.positions', [MAX_TOKENS, DIMENSIONS], getPositionTable(weights));
  const position = graph.add('Slice', [positions, graph.integers(0), writeLongest(graph, ids)]);
  const sum = graph.add('Add', [word, graph.add('Unsqueeze', [position, graph.integers(1)])]);
  const rows = graph.add('Reshape', [sum, graph.integers(-1, DIMENSIONS)]);
  return writeLayerNorm(graph, weights, 'embeddings.LayerNorm', rows);
}

/** Returns the position embeddings, each plus the embedding of token type 0. All tokens have this type. */
function getPositionTable(weights: Weights): Float32Array {
  const positions = weights('embeddings.position_embeddings.weight').values;
  const types = weights('embeddings.token_type_embeddings.weight').values;
  return Float32Array.from(
    { length: MAX_TOKENS * DIMENSIONS },
    (_, i) => (positions[i] as number) + (types[i % DIMENSIONS] as number),
  );
}

function writeLayer(
  graph: Graph,
  weights: Weights,
  writeDense: WriteDense,
  name: string,
  hidden: TensorName,
  grid: Grid,
): TensorName {
  const dense = (input: TensorName, ...layers: DenseLayer[]) => writeDense(graph, input, layers);
  const layer = (part: string, factor?: number) => readDenseLayer(weights, `${name}.${part}`, factor);
  // The scale of the scores depends only on the head size, so the query's weights include the scale.
  const projections = dense(
    hidden,
    layer('attention.self.query', HEAD_SIZE ** -0.5),
    layer('attention.self.key'),
    layer('attention.self.value'),
  );
  const [attended] = dense(writeAttention(graph, projections, grid), layer('attention.output.dense'));
  const middle = writeLayerNorm(
    graph,
    weights,
    `${name}.attention.output.LayerNorm`,
    graph.add('Add', [attended as TensorName, hidden]),
  );
  const [inner] = dense(middle, layer('intermediate.dense'));
  const [outer] = dense(writeGelu(graph, inner as TensorName), layer('output.dense'));
  return writeLayerNorm(graph, weights, `${name}.output.LayerNorm`, graph.add('Add', [outer as TensorName, middle]));
}

function readDenseLayer(weights: Weights, name: string, factor = 1): DenseLayer {
  const { shape, values } = weights(`${name}.weight`);
  const [outputs = 0, inputs = 0] = shape;
  const bias = weights(`${name}.bias`).values;
  return { name, inputs, outputs, weight: values.map((v) => v * factor), bias: bias.map((v) => v * factor) };
}

function writeAttention(graph: Graph, projections: TensorName[], { heads: shape, penalties }: Grid): TensorName {
  const heads = (tensor: TensorName | undefined, perm: number[]) =>
    graph.add('Transpose', [graph.add('Reshape', [tensor as TensorName, shape])], { perm });
  const [query, key, value] = projections;
  const scores = graph.add('MatMul', [heads(query, [1, 0, 2]), heads(key, [1, 2, 0])]);
  const shares = graph.add('Softmax', [graph.add('Add', [scores, penalties])], { axis: -1 });
  const context = graph.add('MatMul', [shares, heads(value, [1, 0, 2])]);
  return graph.add('Reshape', [graph.add('Transpose', [context], { perm: [1, 0, 2] }), graph.integers(-1, DIMENSIONS)]);
}

/** Writes x/2 · (1 + erf(x/√2)) with the operators in an order that the runtime can fuse. */
function writeGelu(graph: Graph, input: TensorName): TensorName {
  const erf = graph.add('Erf', [graph.add('Div', [input, graph.scalar(Math.SQRT2)])]);
  return graph.add('Mul', [graph.add('Mul', [input, graph.add('Add', [erf, graph.scalar(1)])]), graph.scalar(0.5)]);
}

function writeLayerNorm(graph: Graph, weights: Weights, name: string, input: TensorName): TensorName {
  const scale = graph.constant(`${name}.weight`, [DIMENSIONS], weights(`${name}.weight`).values);
  const bias = graph.constant(`${name}.bias`, [DIMENSIONS], weights(`${name}.bias`).values);
  return graph.add('LayerNormalization', [input, scale, bias], { axis: -1, epsilon: { float: LAYER_NORM_EPSILON } });
}
