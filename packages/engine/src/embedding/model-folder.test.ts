import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbedderUnavailable } from '@memoryd/core/models';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ConfiguredEncoding, readEncoding } from './model-folder.ts';
import { type ModelConfig, writeModelConfig } from './tiny-model.fixture.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'model-folder-'));
});
afterEach(() => rm(folder, { recursive: true }));

type Configured = Partial<ConfiguredEncoding['prefixes'] & { pooling: ConfiguredEncoding['pooling'] }>;

async function readConfig(files: ModelConfig, { query, memory, pooling }: Configured = {}) {
  await writeModelConfig(folder, files);
  return readEncoding(folder, { prefixes: { query, memory }, pooling });
}

const PROMPTS = 'config_sentence_transformers.json';
const POOLING = '1_Pooling/config.json';
const E5 = { query: 'query: ', document: 'passage: ' };

describe('model prefixes', () => {
  it.each<[string, unknown, { query: string; memory: string }]>([
    ['query and document', { prompts: E5, default_prompt_name: null }, { query: 'query: ', memory: 'passage: ' }],
    ['query and passage', { prompts: { query: 'q: ', passage: 'p: ' } }, { query: 'q: ', memory: 'p: ' }],
    ['document before corpus', { prompts: { corpus: 'c: ', document: 'd: ' } }, { query: '', memory: 'd: ' }],
    ['corpus', { prompts: { corpus: 'c: ' } }, { query: '', memory: 'c: ' }],
    ['query only', { prompts: { query: 'Find: ', text: 't: ' } }, { query: 'Find: ', memory: '' }],
    ['a default for both', { prompts: { all: 'a: ' }, default_prompt_name: 'all' }, { query: 'a: ', memory: 'a: ' }],
    [
      'query, and a default',
      { prompts: E5, default_prompt_name: 'document' },
      { query: 'query: ', memory: 'passage: ' },
    ],
    ['none', { prompts: {}, default_prompt_name: null }, { query: '', memory: '' }],
    ['no prompts field', { __version__: {} }, { query: '', memory: '' }],
  ])('model prefixes are read from the prompts of the model: %s', async (_, prompts, prefixes) => {
    expect((await readConfig({ [PROMPTS]: prompts })).prefixes).toEqual(prefixes);
  });

  it('model prefixes are empty without a prompts file', async () => {
    expect((await readConfig({})).prefixes).toEqual({ query: '', memory: '' });
  });

  it('model prefixes are overridden individually by configured prefixes, even by empty prefixes', async () => {
    const files = { [PROMPTS]: { prompts: E5 } };
    expect((await readConfig(files, { query: 'q: ' })).prefixes).toEqual({ query: 'q: ', memory: 'passage: ' });
    expect((await readConfig(files, { memory: '' })).prefixes).toEqual({ query: 'query: ', memory: '' });
  });

  it.each([
    [{ prompts: {}, default_prompt_name: 'document' }, 'must have a text for the prompt "document"'],
    [{ prompts: { document: 7 } }, 'must have a text for the prompt "document"'],
  ])('model prefixes are rejected if the prompts are %j', async (prompts, rule) => {
    const reading = readConfig({ [PROMPTS]: prompts }, { query: '' });
    await expect(reading).rejects.toThrow(EmbedderUnavailable);
    await expect(reading).rejects.toMatchObject({
      message: `${PROMPTS} of the model ${rule}: correct it, or configure the prefix`,
      option: 'embeddingPassagePrefix',
    });
  });
});

/** Returns the pooling flags of sentence-transformers before 5.4, with the named ones set. */
function poolingFlags(...set: string[]): Record<string, unknown> {
  const names = ['cls_token', 'mean_tokens', 'max_tokens', 'mean_sqrt_len_tokens', 'weightedmean_tokens', 'lasttoken'];
  const flags = names.map((name) => [`pooling_mode_${name}`, set.includes(name)]);
  return { word_embedding_dimension: 64, ...Object.fromEntries(flags), include_prompt: true };
}

describe('model pooling', () => {
  it.each([
    [poolingFlags('mean_tokens'), 'mean'],
    [poolingFlags('cls_token'), 'cls'],
    [poolingFlags('lasttoken'), 'last'],
    [{ pooling_mode: 'mean', embedding_dimension: 64 }, 'mean'],
    [{ pooling_mode: 'cls' }, 'cls'],
    [{ pooling_mode: ['lasttoken'] }, 'last'],
  ])('model pooling is read from %j', async (config, pooling) => {
    expect((await readConfig({ [POOLING]: config })).pooling).toBe(pooling);
  });

  it('model pooling is the mean without a pooling file', async () => {
    expect((await readConfig({})).pooling).toBe('mean');
  });

  it.each([
    [poolingFlags('max_tokens'), 'has the unsupported pooling pooling_mode_max_tokens'],
    [
      poolingFlags('cls_token', 'mean_tokens'),
      'has the unsupported pooling pooling_mode_cls_token + pooling_mode_mean_tokens',
    ],
    [poolingFlags(), 'has no pooling'],
    [{ pooling_mode: 'weightedmean' }, 'has the unsupported pooling weightedmean'],
    [{ pooling_mode: 'mean', include_prompt: false }, 'excludes the prefix from the pooling'],
  ])('model pooling is rejected for the file %j unless a pooling is configured', async (config, rule) => {
    const reading = readConfig({ [POOLING]: config });
    await expect(reading).rejects.toThrow(EmbedderUnavailable);
    await expect(reading).rejects.toMatchObject({
      message: expect.stringMatching(
        /^1_Pooling\/config\.json of the model .*: choose another model, or configure the pooling$/,
      ),
      option: 'embeddingPooling',
    });
    await expect(reading).rejects.toThrow(rule);
    expect((await readConfig({ [POOLING]: config }, { pooling: 'cls' })).pooling).toBe('cls');
  });

  it('model pooling is rejected if the file named in modules.json is missing', async () => {
    const modules = [{ type: 'sentence_transformers.models.Pooling', path: '1_Pooling' }];
    await expect(readConfig({ 'modules.json': modules })).rejects.toThrow(
      '1_Pooling/config.json of the model is missing, although modules.json names it: download it, or configure the pooling',
    );
  });

  it('model pooling is overridden by the configured pooling', async () => {
    expect((await readConfig({ [POOLING]: poolingFlags('cls_token') }, { pooling: 'last' })).pooling).toBe('last');
  });
});

describe('model modules', () => {
  const module = (name: string, path = '') => ({ type: `sentence_transformers.models.${name}`, path });

  it('model modules can include a normalization of vectors', async () => {
    const modules = [module('Transformer'), module('Pooling', '1_Pooling'), module('Normalize', '2_Normalize')];
    const files = { 'modules.json': modules, [POOLING]: { pooling_mode: 'cls' } };
    expect((await readConfig(files)).pooling).toBe('cls');
  });

  it('model modules are rejected if one module is unsupported, even if the pooling is configured', async () => {
    const files = { 'modules.json': [module('Transformer'), module('Dense', '2_Dense')] };
    await expect(readConfig(files, { pooling: 'mean' })).rejects.toThrow(
      'modules.json of the model has the module Dense, but only Transformer, Pooling, Normalize are supported: choose another model',
    );
  });
});

it.each(['modules.json', PROMPTS, POOLING] as const)(
  'readEncoding rejects a malformed %s with an error that names the file',
  async (name) => {
    await writeModelConfig(folder, {});
    for (const [text, rule] of [
      ['{', 'is not valid JSON'],
      ['null', 'is not a JSON object'],
    ] as const) {
      await writeFile(join(folder, name), text);
      const reading = readEncoding(folder, { prefixes: { query: undefined, memory: undefined }, pooling: undefined });
      await expect(reading).rejects.toThrow(EmbedderUnavailable);
      await expect(reading).rejects.toThrow(`${name} of the model ${rule}: download it again`);
    }
  },
);

it('readEncoding returns the configured encoding for a model from the hub, by default without prefixes and with mean pooling', async () => {
  const nothing = { prefixes: { query: undefined, memory: undefined }, pooling: undefined };
  expect(await readEncoding(undefined, nothing)).toEqual({ prefixes: { query: '', memory: '' }, pooling: 'mean' });
  const configured = { prefixes: { query: 'q: ', memory: 'p: ' }, pooling: 'cls' } as const;
  expect(await readEncoding(undefined, configured)).toEqual(configured);
});
