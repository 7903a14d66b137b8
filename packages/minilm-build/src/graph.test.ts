import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BUILT_FOLDER, MODEL_FILES, type ModelManifest } from '@memoryd/minilm/files';
import { PARTS_RULE } from '@memoryd/minilm/tokens';
import { beforeAll, describe, expect, it } from 'vitest';
import { MAX_WEIGHT } from './encoder.ts';
import { decodeModel, ELEMENT, type Model } from './onnx.ts';

const MAX_UNSIGNED_ACTIVATION = 255;
const MAX_INT16 = 2 ** 15 - 1;

let models: Model[];
beforeAll(async () => {
  const files = MODEL_FILES.graphs.map((name) => readFile(join(BUILT_FOLDER, name)));
  models = (await Promise.all(files)).map(decodeModel);
});

describe('built graphs', () => {
  it('built graphs have dense weights whose products cannot saturate 16 bits on processors without VNNI', () => {
    const constants = new Map(models.flatMap(({ graph }) => graph.initializer.map((each) => [each.name, each])));
    const products = models.flatMap(({ graph }) =>
      graph.node.filter(({ opType }) => opType === 'MatMulIntegerToFloat'),
    );
    expect(products).toHaveLength(36);
    for (const product of products) {
      const weight = constants.get(product.input[1] as string);
      expect(weight?.dataType).toBe(ELEMENT.int8);
      const largest = new Int8Array(weight?.rawData ?? []).reduce(
        (maximum, value) => Math.max(maximum, Math.abs(value)),
        0,
      );
      expect(largest).toBe(MAX_WEIGHT);
      expect(2 * MAX_UNSIGNED_ACTIVATION * largest).toBeLessThanOrEqual(MAX_INT16);
    }
  });

  it('scale activations by constants, so that texts in a run do not change the vectors of other texts', () => {
    for (const { graph } of models) {
      const constants = new Set(graph.initializer.map(({ name }) => name));
      const quantizers = graph.node.filter(({ opType }) => /Quantize/.test(opType));
      expect(quantizers).toHaveLength(12);
      for (const { input } of quantizers) for (const name of input.slice(1)) expect(constants).toContain(name);
    }
  });

  it('built graphs use only standard operators and MatMulIntegerToFloat', () => {
    const others = models.flatMap(({ graph }) => graph.node.filter(({ domain }) => domain !== ''));
    expect(new Set(others.map(({ opType }) => opType))).toEqual(new Set(['MatMulIntegerToFloat']));
    for (const { opsetImport } of models) expect(opsetImport).toContainEqual({ domain: '', version: 17 });
  });

  it('built graphs have a model id derived from the graphs, the tokenizer and the parts rule', async () => {
    const manifest: ModelManifest = JSON.parse(await readFile(join(BUILT_FOLDER, MODEL_FILES.manifest), 'utf8'));
    const hash = createHash('sha256');
    for (const name of [...MODEL_FILES.graphs, MODEL_FILES.tokenizer])
      hash.update(await readFile(join(BUILT_FOLDER, name)));
    const digest = hash.update(PARTS_RULE).digest('hex');
    expect(manifest.modelId).toBe(`minilm-l6-v2-int8-${digest.slice(0, 12)}`);
  });
});
