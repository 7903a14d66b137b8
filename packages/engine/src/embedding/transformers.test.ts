import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Embedder, EmbedderUnavailable, type EmbedPurpose } from '@memoryd/core/models';
import { embedderContract, embedVectors } from '@memoryd/suites';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ConfiguredEncoding } from './model-folder.ts';
import {
  getTokenState,
  type ModelConfig,
  TINY_MODEL_TOKENS,
  writeModelConfig,
  writeTinyModel,
} from './tiny-model.fixture.ts';
import { openTransformers } from './transformers.ts';

const run = promisify(execFile);
const signal = new AbortController().signal;
const enginePackage = fileURLToPath(new URL('../..', import.meta.url));

let folder: string;
let model: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'transformers-'));
  model = join(folder, 'a model');
  await writeTinyModel(model);
});
afterAll(() => rm(folder, { recursive: true }));

describe('transformers model in a folder', () => {
  const embedder = embedderContract(() => openTransformers(model, signal));

  it('a transformers model in a folder has an id that depends on its files but not on its path', async () => {
    const [same, other] = [join(folder, 'copy'), join(folder, 'other')];
    await writeTinyModel(same);
    await writeTinyModel(other, 2);
    const ids: string[] = [];
    for (const path of [relative(process.cwd(), model), same, other]) {
      const one = await openTransformers(path, signal);
      ids.push(one.modelId);
      await one.close();
    }
    expect(ids[0]).toMatch(/^transformers:[0-9a-f]{12}:64$/);
    expect(ids[1]).toBe(ids[0]);
    expect(ids[2]).not.toBe(ids[0]);
  });

  it('returns the mean of its hidden states', async () => {
    const [[both], [boat], [harbour]] = (await embedVectors(
      embedder(),
      ['boat harbour', 'boat', 'harbour'],
      'memory',
    )) as [[Float32Array], [Float32Array], [Float32Array]];
    // Each mean includes the markers at both ends, so the combined text lies between the two others.
    const cosine = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, i) => sum + value * (b[i] as number), 0);
    expect(cosine(both, boat)).toBeGreaterThan(cosine(boat, harbour));
    expect(cosine(both, harbour)).toBeGreaterThan(cosine(boat, harbour));
  });

  it('receives texts in parts that fit into its context window', async () => {
    const words = (n: number) => 'harbour '.repeat(n);
    const window = TINY_MODEL_TOKENS - 2;
    const counts = await embedVectors(embedder(), [words(window), words(window + 1), words(10 * window)], 'memory');
    expect(counts.map((vectors) => vectors.length)).toEqual([1, 2, 10]);
  });

  it.each([
    ['one word of 10,000 letters', 'ab'.repeat(5000)],
    ['unknown characters among known words', 'boat 𒀀 '.repeat(500)],
  ])('transformers model in a folder embeds %s', async (_, text) => {
    for (const purpose of ['memory', 'query'] as const) {
      for (const vector of (await embedVectors(embedder(), [text], purpose)).flat())
        expect(Math.hypot(...vector)).toBeCloseTo(1, 4);
    }
    expect(await embedVectors(embedder(), ['𒀀'.repeat(500)], 'memory')).toEqual([[]]);
  });
});

/** Prefixes of words in the model's vocabulary. */
const PROMPTS = { prompts: { query: 'when does ', document: 'log says that ' } };
const CLS = { pooling_mode_cls_token: true, pooling_mode_mean_tokens: false };

describe('transformers model with prefixes and pooling', () => {
  const opened: Embedder[] = [];
  afterEach(async () => {
    for (const embedder of opened.splice(0)) await embedder.close();
  });

  async function openWith(files: ModelConfig, configured: Partial<ConfiguredEncoding> = {}): Promise<Embedder> {
    const path = await mkdtemp(join(folder, 'configured-'));
    await writeTinyModel(path);
    await writeModelConfig(path, files);
    const nothing: ConfiguredEncoding = { prefixes: { query: undefined, memory: undefined }, pooling: undefined };
    const embedder = await openTransformers(path, signal, { ...nothing, ...configured });
    opened.push(embedder);
    return embedder;
  }

  async function embedOne(embedder: Embedder, text: string, purpose: EmbedPurpose): Promise<Float32Array> {
    const [[vector] = []] = await embedVectors(embedder, [text], purpose);
    return vector as Float32Array;
  }

  /** Returns the mean of the states of some tokens, normalized. */
  function getMeanState(...tokens: string[]): number[] {
    const states = tokens.map((token) => getTokenState(token));
    const sum = [...(states[0] as Float32Array)].map((_, i) =>
      states.reduce((s, state) => s + (state[i] as number), 0),
    );
    const length = Math.hypot(...sum);
    return sum.map((value) => value / length);
  }

  function expectClose(vector: Float32Array, expected: ArrayLike<number>): void {
    expect(vector).toHaveLength(expected.length);
    const distance = Math.hypot(...vector.map((value, i) => value - (expected[i] as number)));
    expect(distance).toBeCloseTo(0, 5);
  }

  it('prepends the prompts of its folder to queries and memories', async () => {
    const embedder = await openWith({ 'config_sentence_transformers.json': PROMPTS });
    const [query, memory] = [await embedOne(embedder, 'boat', 'query'), await embedOne(embedder, 'boat', 'memory')];
    expectClose(query, getMeanState('[CLS]', 'when', 'does', 'boat', '[SEP]'));
    expectClose(memory, getMeanState('[CLS]', 'log', 'says', 'that', 'boat', '[SEP]'));
  });

  it('prepends configured prefixes, which override the prompts of its folder', async () => {
    const prefixes = { query: 'entry of ', memory: '' };
    const embedder = await openWith({ 'config_sentence_transformers.json': PROMPTS }, { prefixes });
    expectClose(await embedOne(embedder, 'boat', 'query'), getMeanState('[CLS]', 'entry', 'of', 'boat', '[SEP]'));
    expectClose(await embedOne(embedder, 'boat', 'memory'), getMeanState('[CLS]', 'boat', '[SEP]'));
  });

  it('pools by mean, first token or last token as the folder or the configuration specifies', async () => {
    const plain = await openWith({});
    const first = await openWith({ '1_Pooling/config.json': CLS });
    const last = await openWith({ '1_Pooling/config.json': CLS }, { pooling: 'last' });
    expectClose(await embedOne(plain, 'boat', 'memory'), getMeanState('[CLS]', 'boat', '[SEP]'));
    expectClose(await embedOne(first, 'boat', 'memory'), getMeanState('[CLS]'));
    expectClose(await embedOne(last, 'boat', 'memory'), getMeanState('[SEP]'));
  });

  it('receives texts in parts that fit into its context window together with the prefix', async () => {
    const embedder = await openWith({ 'config_sentence_transformers.json': PROMPTS });
    const words = (n: number) => 'harbour '.repeat(n);
    const window = TINY_MODEL_TOKENS - 2 - 3;
    const counts = await embedVectors(embedder, [words(window), words(window + 1), words(10 * window)], 'memory');
    expect(counts.map((vectors) => vectors.length)).toEqual([1, 2, 10]);
  });

  it('returns no vector for a text of unknown characters, even with a known prefix', async () => {
    const embedder = await openWith({ 'config_sentence_transformers.json': PROMPTS });
    expect(await embedVectors(embedder, ['𒀀'], 'memory')).toEqual([[]]);
  });

  it('a transformers model with prefixes and pooling has a different id for each prefix and pooling, and the same id whether they are configured or in its folder', async () => {
    const prompts = { 'config_sentence_transformers.json': PROMPTS };
    const byFile = { query: PROMPTS.prompts.query, memory: PROMPTS.prompts.document };
    const getId = async (...how: Parameters<typeof openWith>) => (await openWith(...how)).modelId;
    const ids = [
      await getId({}),
      await getId(prompts),
      await getId({}, { prefixes: { ...byFile, memory: undefined } }),
      await getId({}, { prefixes: { ...byFile, query: undefined } }),
      await getId({ '1_Pooling/config.json': CLS }),
      await getId({}, { pooling: 'last' }),
    ];
    expect(new Set(ids).size).toBe(ids.length);
    // Equal encodings have equal ids, so configuring the folder's own values does not re-embed anything.
    expect(await getId({}, { prefixes: byFile })).toBe(ids[1]);
    expect(await getId({}, { pooling: 'cls' })).toBe(ids[4]);
    expect(await getId({ 'config_sentence_transformers.json': { prompts: {} } })).toBe(ids[0]);
  });
});

describe('opening a transformers model', () => {
  it('rejects an unsupported pooling with an error that names the file', async () => {
    const path = join(folder, 'other pooling');
    await writeTinyModel(path);
    await writeModelConfig(path, { '1_Pooling/config.json': { pooling_mode_max_tokens: true } });
    await expect(openTransformers(path, signal)).rejects.toMatchObject({
      message: expect.stringContaining(
        '1_Pooling/config.json of the model has the unsupported pooling pooling_mode_max_tokens',
      ),
      option: 'embeddingPooling',
    });
  });

  it('rejects a prefix that leaves too few tokens for texts', async () => {
    const room = TINY_MODEL_TOKENS - 32;
    const open = (tokens: number) =>
      openTransformers(model, signal, {
        prefixes: { query: undefined, memory: 'boat '.repeat(tokens) },
        pooling: undefined,
      });
    await (await open(room)).close();
    await expect(open(room + 1)).rejects.toMatchObject({
      message: expect.stringMatching(
        /needs inputs of at least 321 tokens, but the maximum for this model is 320: shorten the prefix/,
      ),
      option: 'embedder',
    });
  });

  it('rejects a model with missing or corrupted files', async () => {
    const empty = join(folder, 'empty');
    await mkdir(empty);
    const corrupt = join(folder, 'corrupt');
    await writeTinyModel(corrupt);
    await writeFile(join(corrupt, 'onnx', 'model.onnx'), 'no graph');
    for (const path of [empty, corrupt]) {
      const failure = openTransformers(path, signal);
      await expect(failure).rejects.toThrow(EmbedderUnavailable);
      await expect(failure).rejects.toMatchObject({ message: 'the model cannot be loaded', option: 'embedder' });
    }
  });

  it('stops its thread if a file cannot be read', async () => {
    const unreadable = join(folder, 'unreadable');
    await writeTinyModel(unreadable);
    await mkdir(join(unreadable, 'onnx', 'model.onnx_data'));
    // Each thread with a model has an exit listener until it is stopped.
    const before = process.listenerCount('exit');
    await expect(openTransformers(unreadable, signal)).rejects.toMatchObject({ cause: { code: 'EISDIR' } });
    expect(process.listenerCount('exit')).toBe(before);
  });

  it('rejects if the signal is aborted', async () => {
    const abort = new AbortController();
    const opening = openTransformers(model, abort.signal);
    abort.abort();
    await expect(opening).rejects.toMatchObject({ cause: { message: 'opening the model was aborted' } });
  });

  it('reports the package to install if the package is missing', async () => {
    const installed = join(folder, 'installed', 'node_modules');
    await copyWithoutTransformers(installed);
    const opening = `
      const { openTransformers } = await import('./embedding/transformers.js');
      await openTransformers('any', new AbortController().signal).catch((error) => console.log(error.message));`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', opening], {
      cwd: join(installed, '@memoryd', 'engine', 'dist'),
    });
    expect(stdout).toBe(
      'the embedder needs a package that is not installed: run npm install @huggingface/transformers@4\n',
    );
  });
});

/** Installs the built engine and its dependencies except one. */
async function copyWithoutTransformers(installed: string): Promise<void> {
  const workspaceModules = join(enginePackage, '..', '..', 'node_modules');
  const engine = join(installed, '@memoryd', 'engine');
  await cp(join(enginePackage, 'dist'), join(engine, 'dist'), { recursive: true });
  await cp(join(enginePackage, 'package.json'), join(engine, 'package.json'));
  for (const name of ['piscina', '@memoryd/contract', '@memoryd/core', '@memoryd/minilm']) {
    await mkdir(dirname(join(installed, name)), { recursive: true });
    await symlink(await realpath(join(workspaceModules, name)), join(installed, name));
  }
  expect(await readdir(installed)).not.toContain('@huggingface');
}
