import { beforeAll, describe, expect, it } from 'vitest';
import { BUILT_FOLDER } from './files.ts';
import { loadModel } from './model.ts';
import { type Model, STATE_SIZE } from './parts.ts';

const noTurn = async () => {};

let model: Model;
beforeAll(async () => {
  model = await loadModel(BUILT_FOLDER);
});

async function getStates(...texts: string[]): Promise<Int8Array[][]> {
  const parts = await model(texts, noTurn);
  return parts.map(({ states = new Int8Array() }) =>
    Array.from({ length: states.length / STATE_SIZE }, (_, i) => states.slice(i * STATE_SIZE, (i + 1) * STATE_SIZE)),
  );
}

function cosine(one: Int8Array | undefined, other: Int8Array | undefined): number {
  const product = (a: Int8Array, b: Int8Array) => a.reduce((sum, value, i) => sum + value * (b[i] as number), 0);
  if (!one || !other) return Number.NaN;
  return product(one, other) / Math.sqrt(product(one, one) * product(other, other));
}

describe('token states', () => {
  it('token states exist for informative tokens only', async () => {
    const [all = []] = await getStates('The heron, and the otter: at the lake!');
    expect(all).toHaveLength(3);
    for (const state of all) expect(Math.hypot(...state)).toBeCloseTo(127, -1);
  });

  it('token states do not depend on other texts in the run', async () => {
    const texts = [
      'The otter swims in the lake.',
      'Otters',
      'A heron stands at the edge of the lake and waits for fish.',
    ];
    const together = await getStates(...texts);
    for (const [i, text] of texts.entries()) expect(await getStates(text)).toEqual([together[i]]);
  });

  it('token states are more similar for the same word with the same meaning than for different words', async () => {
    const [[bank] = [], [other] = [], [meadow] = []] = await getStates('bank account', 'bank loan', 'meadow flowers');
    expect(cosine(bank, other)).toBeGreaterThan(cosine(bank, meadow) + 0.2);
  });

  it('token states do not exist for a text in an unsupported language', async () => {
    expect(await getStates('我明天下午三点去图书馆还书。')).toEqual([[]]);
  });
});
