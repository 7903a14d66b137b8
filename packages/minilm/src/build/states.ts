import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { STATE_SIZE } from '../parts.ts';
import { DIMENSIONS } from './encoder.ts';
import type { Graph, TensorName } from './graph.ts';

/** Where hidden states are seen from, and the directions in which they differ most. */
export interface StateBasis {
  /** `DIMENSIONS` numbers, which are taken off every state. */
  mean: Float32Array;
  /** `STATE_SIZE` directions of `DIMENSIONS` numbers, one after the other. */
  directions: Float32Array;
}

/** Made by `make-state-basis.ts`; it is data, so that every machine builds the same graph. */
export const STATE_BASIS = fileURLToPath(new URL('../../src/build/state-basis.json', import.meta.url));

/** Numbers of the basis are kept as multiples of 1 / 32,767 of the largest. */
export const BASIS_STEPS = 32_767;

/** What is kept of a basis: 16-bit integers in base64, and what turns them back. */
export interface KeptBasis {
  mean: KeptNumbers;
  directions: KeptNumbers;
}

interface KeptNumbers {
  largest: number;
  values: string;
}

export function readStateBasis(): StateBasis {
  const { mean, directions }: KeptBasis = JSON.parse(readFileSync(STATE_BASIS, 'utf8'));
  return { mean: getNumbers(mean), directions: getNumbers(directions) };
}

function getNumbers({ largest, values }: KeptNumbers): Float32Array {
  const bytes = Buffer.from(values, 'base64');
  return Float32Array.from({ length: bytes.length / 2 }, (_, i) => (bytes.readInt16LE(2 * i) * largest) / BASIS_STEPS);
}

/** Largest magnitude of a number of a reduced state, which is a unit vector times this. */
const LARGEST = 127;

/** ONNX's number for signed bytes. */
const INT8 = 3;

/**
 * Writes the output `states`: of every token its last hidden state, less the mean, along the directions of the basis, at unit
 * length, as signed bytes. As few numbers tell tokens apart as well as all `DIMENSIONS` do
 * (docs/decisions/0029-late-interaction.md).
 */
export function writeStates(graph: Graph, hidden: TensorName, { mean, directions }: StateBasis): void {
  const centred = graph.add('Sub', [hidden, graph.constant('states.mean', [DIMENSIONS], mean)]);
  const columns = new Float32Array(directions.length).map(
    (_, i) => directions[(i % STATE_SIZE) * DIMENSIONS + Math.floor(i / STATE_SIZE)] as number,
  );
  const reduced = graph.add('MatMul', [
    centred,
    graph.constant('states.directions', [DIMENSIONS, STATE_SIZE], columns),
  ]);
  const unit = graph.add('LpNormalization', [reduced], { axis: -1, p: 2 });
  const bytes = graph.add('Cast', [graph.add('Round', [graph.add('Mul', [unit, graph.scalar(LARGEST)])])], {
    to: INT8,
  });
  graph.output('states', bytes, ['tokens', STATE_SIZE], 'int8');
}
