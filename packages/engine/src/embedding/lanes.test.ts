import type { MemoryError } from '@memoryd/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { EmbedParts } from './embed-parts.ts';
import { LANE_LIMITS, Lanes } from './lanes.ts';
import { BUILT_FOLDER } from './minilm/files.ts';
import { startThread, type Thread } from './thread.ts';

const BROKEN = 'a text that breaks the model';
const LONG = 'The harbour master wrote down each ship that came in. '.repeat(100);

describe('the lanes before a model', () => {
  let thread: Thread;
  let steps: string[][];
  let lanes: Lanes;

  /** The bundled model's, which notes what it is asked for and breaks at one text. */
  const embedParts: EmbedParts = (windows, purpose) => {
    steps.push([...windows]);
    if (windows.includes(BROKEN)) return Promise.reject(new Error('broken'));
    return thread.embedParts(windows, purpose);
  };

  beforeAll(() => {
    thread = startThread({ kind: 'minilm', source: BUILT_FOLDER });
  });
  beforeEach(() => {
    steps = [];
    lanes = new Lanes(embedParts);
  });
  afterAll(() => thread.stop());

  it('embed queries together that have come while another was under way', async () => {
    await Promise.all(['one', 'two', 'three', 'four'].map((query) => lanes.embed([query], 'query')));
    expect(steps).toEqual([['one', 'two', 'three', 'four']]);
    const first = lanes.embed(['first'], 'query');
    await new Promise((resolve) => setImmediate(resolve));
    await Promise.all([first, ...['next', 'last'].map((query) => lanes.embed([query], 'query'))]);
    expect(steps.slice(1)).toEqual([['first'], ['next', 'last']]);
  });

  it('embed no more texts in a step than 16, and no more characters than a window has', async () => {
    await lanes.embed(Array(40).fill('short'), 'memory');
    expect(steps.map(({ length }) => length)).toEqual([16, 16, 8]);
    await lanes.embed(Array(3).fill('word '.repeat(500)), 'memory');
    for (const windows of steps) expect(windows.join('').length).toBeLessThanOrEqual(4096);
  });

  it('answer short texts before a long one that came first', async () => {
    const answered: string[] = [];
    const long = lanes.embed([LONG], 'memory').then(() => answered.push('long'));
    const short = lanes.embed(['short'], 'memory').then(() => answered.push('short'));
    await Promise.all([long, short]);
    expect(answered).toEqual(['short', 'long']);
  });

  it('fail for the text alone that breaks the model', async () => {
    const calls = ['before', BROKEN, 'behind'].map((text) => lanes.embed([text], 'memory'));
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(steps).toHaveLength(4);
  });

  it('take no more calls than the limit, and others once those are answered', async () => {
    const calls = Array.from({ length: LANE_LIMITS.memory }, () => lanes.embed(['text'], 'memory'));
    await expect(lanes.embed(['one too many'], 'memory')).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    } satisfies Partial<MemoryError>);
    await Promise.all(calls);
    expect(await lanes.embed(['now'], 'memory')).toHaveLength(1);
  });

  it('refuse what waits and what is under way when they close', async () => {
    const calls = [...Array(8).fill(LONG), 'short'].map((text) => lanes.embed([text], 'memory'));
    const outcomes = Promise.allSettled(calls);
    await new Promise((resolve) => setImmediate(resolve));
    await lanes.close();
    for (const outcome of await outcomes) expect(outcome).toMatchObject({ reason: { code: 'UNAVAILABLE' } });
    await expect(lanes.embed(['later'], 'query')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});
