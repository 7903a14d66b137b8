import { setTimeout as delay } from 'node:timers/promises';
import type { MemoryError } from '@memoryd/contract';
import { takePart } from '@memoryd/minilm/parts';
import { beforeEach, describe, expect, it } from 'vitest';
import { CALL_LIMITS, EmbeddingScheduler } from './embedding-scheduler.ts';
import type { Lane } from './lanes.ts';
import type { EmbedParts } from './thread.ts';

const BROKEN = 'a text that breaks the model';
const LONG = 'The harbour master wrote down each ship that came in. '.repeat(100);
const TEXTS_TOGETHER = 16;
/** Maximum words of a part. */
const PART_WORDS = 254;

const nextTick = () => new Promise((resolve) => setImmediate(resolve));

/** Returns the length of each word, which stands for a token. */
const tokenize = (text: string) => (text.match(/\S+/g) ?? []).map(({ length }) => length);

describe('EmbeddingScheduler', () => {
  let steps: string[][];
  let running: Record<Lane, number>;
  let scheduler: EmbeddingScheduler;

  /** A model that records its texts, fails at one of them, and checks that there is one call of a lane at a time. */
  const embedParts: EmbedParts = async (windows, lane) => {
    steps.push([...windows]);
    running[lane]++;
    try {
      expect(running[lane]).toBe(1);
      if (windows.includes(BROKEN)) throw new Error('broken');
      await delay(5);
      return windows.map((window) => {
        const { ids, length } = takePart(window, tokenize, PART_WORDS);
        return { vector: Float32Array.of(1, 0), length, tokens: ids.length };
      });
    } finally {
      running[lane]--;
    }
  };

  beforeEach(() => {
    steps = [];
    running = { query: 0, short: 0, long: 0 };
    scheduler = new EmbeddingScheduler(embedParts, TEXTS_TOGETHER);
  });

  it('embeds queries that arrive during a step together in the next step', async () => {
    const calls = [scheduler.embed(['first'], 'query')];
    for (const query of ['second', 'third', 'last']) {
      await Promise.resolve();
      calls.push(scheduler.embed([query], 'query'));
    }
    await Promise.all(calls);
    expect(steps).toEqual([['first'], ['second', 'third', 'last']]);
  });

  it('embeds as many queries at once as the model can, and tells the model when a query has to wait', async () => {
    const ends: (() => void)[] = [];
    let waited = 0;
    const queries = { capacity: 2, grow: () => void waited++ };
    const waiting = new EmbeddingScheduler(
      async (windows) => {
        steps.push([...windows]);
        await new Promise<void>((resolve) => ends.push(resolve));
        return windows.map(({ length }) => ({ vector: Float32Array.of(1), length, tokens: 1 }));
      },
      1,
      queries,
    );
    const calls = ['first', 'second', 'third'].map((query) => waiting.embed([query], 'query'));
    await nextTick();
    expect([steps, waited]).toEqual([[['first'], ['second']], 1]);
    ends[1]?.();
    await calls[1];
    await nextTick();
    expect(steps).toEqual([['first'], ['second'], ['third']]);
    for (const end of ends) end();
    await Promise.all(calls);
  });

  it('limits the number of texts and characters per step', async () => {
    await scheduler.embed(Array(40).fill('short'), 'memory');
    expect(steps.map(({ length }) => length)).toEqual([16, 16, 8]);
    await scheduler.embed(Array(6).fill('word '.repeat(200)), 'memory');
    expect(steps.slice(3).map(({ length }) => length)).toEqual([4, 2]);
    await Promise.all(Array.from({ length: 8 }, () => scheduler.embed(['what '.repeat(30)], 'query')));
    expect(steps.slice(5).map(({ length }) => length)).toEqual([3, 3, 2]);
  });

  it('embeds one text per step if textsTogether is 1', async () => {
    await new EmbeddingScheduler(embedParts, 1).embed(['one', 'two'], 'memory');
    expect(steps).toEqual([['one'], ['two']]);
  });

  it('alternates between the texts of concurrent calls, whatever their lengths', async () => {
    const calls = [scheduler.embed(Array(8).fill(LONG), 'memory'), scheduler.embed(['short'], 'memory')];
    await Promise.all(calls);
    expect(steps.findIndex((windows) => windows.includes('short'))).toBe(1);
  });

  it('resolves a short text before a longer text that was queued earlier', async () => {
    const resolved: string[] = [];
    const long = scheduler.embed([LONG.repeat(2)], 'memory').then(() => resolved.push('long'));
    const short = scheduler.embed([LONG.slice(0, 200)], 'memory').then(() => resolved.push('short'));
    await Promise.all([long, short]);
    expect(resolved).toEqual(['short', 'long']);
    expect(steps.findIndex((windows) => windows.includes(LONG.slice(0, 200)))).toBe(1);
  });

  it('embeds short texts during a step of a long text, but at most eight times, so that the long text goes on', async () => {
    let finish = () => {};
    const lanes: Lane[] = [];
    const waiting = new EmbeddingScheduler(async (windows, lane) => {
      lanes.push(lane);
      if (lane === 'long') await new Promise<void>((resolve) => (finish = resolve));
      return windows.map(({ length }) => ({ vector: Float32Array.of(1), length, tokens: 1 }));
    }, 1);
    const long = waiting.embed([LONG], 'memory');
    const short = waiting.embed(Array(20).fill('short'), 'memory');
    await nextTick();
    expect(lanes).toEqual(['long', ...Array(8).fill('short')]);
    finish();
    await nextTick();
    finish();
    await Promise.all([long, short]);
    expect(lanes.filter((lane) => lane === 'long')).toHaveLength(2);
  });

  it('embeds at most `maxParts` parts of each text, and returns where the rest begins', async () => {
    const [long, short] = await scheduler.embed([LONG, 'short'], 'memory', 2);
    expect(long?.vectors).toHaveLength(2);
    expect(LONG.slice(0, long?.next)).toMatch(/came in\. $/);
    expect(short).toEqual({ vectors: [expect.anything()] });
    expect(steps.flat()).toHaveLength(3);
  });

  it('rejects only the call with the text that makes the model fail, and skips the other texts of that call', async () => {
    const calls = [['before'], [BROKEN, ...Array(30).fill('orphan')], ['behind']];
    const outcomes = await Promise.allSettled(calls.map((texts) => scheduler.embed(texts, 'memory')));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(steps).toHaveLength(4);
    await scheduler.embed(['next'], 'memory');
    expect(steps.slice(4)).toEqual([['next']]);
  });

  it('rejects calls beyond the maximum number until running calls are done', async () => {
    const calls = Array.from({ length: CALL_LIMITS.memory }, () => scheduler.embed(['text'], 'memory'));
    await expect(scheduler.embed(['one too many'], 'memory')).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    } satisfies Partial<MemoryError>);
    await Promise.all(calls);
    expect(await scheduler.embed(['now'], 'memory')).toHaveLength(1);
  });

  it('rejects waiting and running calls on close and waits for the model', async () => {
    const calls = [...Array(8).fill(LONG), 'short'].map((text) => scheduler.embed([text], 'memory'));
    const outcomes = Promise.allSettled(calls);
    await nextTick();
    expect(running).toEqual({ query: 0, short: 1, long: 1 });
    await scheduler.close();
    expect(running).toEqual({ query: 0, short: 0, long: 0 });
    for (const outcome of await outcomes) expect(outcome).toMatchObject({ reason: { code: 'UNAVAILABLE' } });
    await expect(scheduler.embed(['later'], 'query')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await nextTick();
    expect(steps).toHaveLength(2);
  });

  it('EmbeddingScheduler does not retry the calls of a failed step one by one after close', async () => {
    const calls = ['one', BROKEN, 'two'].map((text) => scheduler.embed([text], 'memory'));
    const outcomes = Promise.allSettled(calls);
    await Promise.resolve();
    await scheduler.close();
    for (const outcome of await outcomes) expect(outcome).toMatchObject({ reason: { code: 'UNAVAILABLE' } });
    expect(steps.length).toBeLessThanOrEqual(1);
  });
});
