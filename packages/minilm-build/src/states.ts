import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { STATE_SIZE } from '@memoryd/minilm/parts';
import { DIMENSIONS } from './encoder.ts';
import type { Graph, TensorName } from './graph.ts';

/** The origin and principal directions of hidden states. */
export interface StateBasis {
  /** `DIMENSIONS` numbers, subtracted from every state. */
  mean: Float32Array;
  /** `STATE_SIZE` directions of `DIMENSIONS` numbers, concatenated. */
  directions: Float32Array;
}

/**
 * Path of the basis, written by `make-state-basis.ts` and stored in the repository, so that every machine builds the
 * same graph.
 */
export const STATE_BASIS = fileURLToPath(new URL('../src/state-basis.json', import.meta.url));

/** Numbers of the basis are stored as multiples of 1 / 32,767 of the number with the largest magnitude. */
export const BASIS_STEPS = 32_767;

/** The stored format of a basis: 16-bit integers in base64, and their scale. */
export interface StoredBasis {
  mean: StoredNumbers;
  directions: StoredNumbers;
}

interface StoredNumbers {
  largest: number;
  values: string;
}

export function readStateBasis(): StateBasis {
  const { mean, directions }: StoredBasis = JSON.parse(readFileSync(STATE_BASIS, 'utf8'));
  return { mean: getNumbers(mean), directions: getNumbers(directions) };
}

function getNumbers({ largest, values }: StoredNumbers): Float32Array {
  const bytes = Buffer.from(values, 'base64');
  return Float32Array.from({ length: bytes.length / 2 }, (_, i) => (bytes.readInt16LE(2 * i) * largest) / BASIS_STEPS);
}

/** Factor that scales a reduced state from a unit vector to signed bytes. */
const STATE_SCALE = 127;

/** ONNX's element type of signed bytes. */
const INT8 = 3;

/**
 * Writes the output `states`: the last hidden state of every token, centered, projected onto the basis, normalized, as
 * signed bytes. The `STATE_SIZE` numbers of a projected state distinguish tokens as well as the `DIMENSIONS` numbers of
 * a hidden state (docs/decisions/0029-late-interaction.md).
 */
export function writeStates(graph: Graph, hidden: TensorName, { mean, directions }: StateBasis): void {
  const centered = graph.add('Sub', [hidden, graph.constant('states.mean', [DIMENSIONS], mean)]);
  const columns = new Float32Array(directions.length).map(
    (_, i) => directions[(i % STATE_SIZE) * DIMENSIONS + Math.floor(i / STATE_SIZE)] as number,
  );
  const reduced = graph.add('MatMul', [
    centered,
    graph.constant('states.directions', [DIMENSIONS, STATE_SIZE], columns),
  ]);
  const unit = graph.add('LpNormalization', [reduced], { axis: -1, p: 2 });
  const bytes = graph.add('Cast', [graph.add('Round', [graph.add('Mul', [unit, graph.scalar(STATE_SCALE)])])], {
    to: INT8,
  });
  graph.output('states', bytes, ['tokens', STATE_SIZE], 'int8');
}
