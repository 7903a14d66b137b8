import { setTimeout as delay } from 'node:timers/promises';
import type { MemoryError } from '@memoryd/contract';
import { takePart } from '@memoryd/minilm/parts';
import { beforeEach, describe, expect, it } from 'vitest';
import type { EmbedPurpose } from '../ports/embedder.ts';
import { CALL_LIMITS, Lanes } from './lanes.ts';
import type { EmbedParts } from './thread.ts';

const BROKEN = 'a text that breaks the model';
const LONG = 'The harbour master wrote down each ship that came in. '.repeat(100);
const TOGETHER = 16;
/** Most words of one part. */
const PART_WORDS = 254;

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Returns the length of each word: a model's tokens, as far as parts of a text are concerned. */
const tokenize = (text: string) => (text.match(/\S+/g) ?? []).map(({ length }) => length);

describe('the lanes before a model', () => {
  let steps: string[][];
  let underWay: Record<EmbedPurpose, number>;
  let lanes: Lanes;

  /** A model that notes the texts that it is given, breaks at one of them and expects one call of a purpose at a time. */
  const embedParts: EmbedParts = async (windows, purpose) => {
    steps.push([...windows]);
    underWay[purpose]++;
    try {
      expect(underWay[purpose]).toBe(1);
      if (windows.includes(BROKEN)) throw new Error('broken');
      await delay(5);
      return windows.map((window) => {
        const { ids, length } = takePart(window, tokenize, PART_WORDS);
        return { vector: Float32Array.of(1, 0), length, tokens: ids.length };
      });
    } finally {
      underWay[purpose]--;
    }
  };

  beforeEach(() => {
    steps = [];
    underWay = { query: 0, memory: 0 };
    lanes = new Lanes(embedParts, TOGETHER);
  });

  it('embed queries together that have come while another was under way', async () => {
    const calls = [lanes.embed(['first'], 'query')];
    for (const query of ['second', 'third', 'last']) {
      await Promise.resolve();
      calls.push(lanes.embed([query], 'query'));
    }
    await Promise.all(calls);
    expect(steps).toEqual([['first'], ['second', 'third', 'last']]);
  });

  it('embed no more texts in a step than they may, and no more characters', async () => {
    await lanes.embed(Array(40).fill('short'), 'memory');
    expect(steps.map(({ length }) => length)).toEqual([16, 16, 8]);
    await lanes.embed(Array(6).fill('word '.repeat(200)), 'memory');
    expect(steps.slice(3).map(({ length }) => length)).toEqual([4, 2]);
    await Promise.all(Array.from({ length: 8 }, () => lanes.embed(['what '.repeat(30)], 'query')));
    expect(steps.slice(5).map(({ length }) => length)).toEqual([3, 3, 2]);
  });

  it('embed one text a step for a model that gains nothing by more', async () => {
    await new Lanes(embedParts, 1).embed(['one', 'two'], 'memory');
    expect(steps).toEqual([['one'], ['two']]);
  });

  it('give each call its turn, whatever the others bring', async () => {
    const calls = [lanes.embed(Array(8).fill(LONG), 'memory'), lanes.embed(['short'], 'memory')];
    await Promise.all(calls);
    expect(steps.findIndex((windows) => windows.includes('short'))).toBe(1);
  });

  it('answer a text of one part before a longer one that came first', async () => {
    const answered: string[] = [];
    const long = lanes.embed([LONG.repeat(2)], 'memory').then(() => answered.push('long'));
    const short = lanes.embed([LONG.slice(0, 200)], 'memory').then(() => answered.push('short'));
    await Promise.all([long, short]);
    expect(answered).toEqual(['short', 'long']);
    expect(steps.findIndex((windows) => windows.includes(LONG.slice(0, 200)))).toBe(1);
  });

  it('fail for the call alone whose text breaks the model, and embed nothing more of it', async () => {
    const calls = [['before'], [BROKEN, ...Array(30).fill('orphan')], ['behind']];
    const outcomes = await Promise.allSettled(calls.map((texts) => lanes.embed(texts, 'memory')));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(steps).toHaveLength(4);
    await lanes.embed(['next'], 'memory');
    expect(steps.slice(4)).toEqual([['next']]);
  });

  it('take no more calls than the limit, and others once those are answered', async () => {
    const calls = Array.from({ length: CALL_LIMITS.memory }, () => lanes.embed(['text'], 'memory'));
    await expect(lanes.embed(['one too many'], 'memory')).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    } satisfies Partial<MemoryError>);
    await Promise.all(calls);
    expect(await lanes.embed(['now'], 'memory')).toHaveLength(1);
  });

  it('refuse what waits and what is under way when they close, and leave the model at rest', async () => {
    const calls = [...Array(8).fill(LONG), 'short'].map((text) => lanes.embed([text], 'memory'));
    const outcomes = Promise.allSettled(calls);
    await nextTurn();
    expect(underWay.memory).toBe(1);
    await lanes.close();
    expect(underWay.memory).toBe(0);
    for (const outcome of await outcomes) expect(outcome).toMatchObject({ reason: { code: 'UNAVAILABLE' } });
    await expect(lanes.embed(['later'], 'query')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await nextTurn();
    expect(steps).toHaveLength(1);
  });

  it('try no call alone once they are closed', async () => {
    const calls = ['one', BROKEN, 'two'].map((text) => lanes.embed([text], 'memory'));
    const outcomes = Promise.allSettled(calls);
    await Promise.resolve();
    await lanes.close();
    for (const outcome of await outcomes) expect(outcome).toMatchObject({ reason: { code: 'UNAVAILABLE' } });
    expect(steps.length).toBeLessThanOrEqual(1);
  });
});
