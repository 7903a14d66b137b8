import { describe, expect, it } from 'vitest';
import { type Embedder, EmbedderUnavailable } from '../ports/embedder.ts';
import { openEmbedderEarly } from './opened-early.ts';

/** Creates a model that opens on demand, and counts calls. */
function slowModel() {
  const seen = { opened: 0, closed: 0, aborted: 0 };
  let settle: { open: () => void; fail: (error: Error) => void } = { open: () => {}, fail: () => {} };
  const embedder: Embedder = {
    modelId: 'slow',
    dimensions: 1,
    maxBatchSize: 1,
    embed: async (texts) => texts.map(() => ({ vectors: [Float32Array.of(1)] })),
    close: async () => void seen.closed++,
  };
  return {
    seen,
    embedder,
    settled: () => settle,
    open: (signal: AbortSignal) => {
      seen.opened++;
      signal.addEventListener('abort', () => seen.aborted++);
      return new Promise<Embedder>((resolve, reject) => {
        settle = { open: () => resolve(embedder), fail: reject };
      });
    },
  };
}

describe('openEmbedderEarly', () => {
  it('opens the model before the first call, and returns that model to the call', async () => {
    const model = slowModel();
    const early = openEmbedderEarly(model.open);
    expect(model.seen.opened).toBe(1);
    const asked = early.open(new AbortController().signal);
    model.settled().open();
    expect(await asked).toBe(model.embedder);
    expect(model.seen).toEqual({ opened: 1, closed: 0, aborted: 0 });
  });

  it('opens the model again for a call after a failure', async () => {
    const model = slowModel();
    const early = openEmbedderEarly(model.open);
    model.settled().fail(new EmbedderUnavailable('nobody answers'));
    await expect(early.open(new AbortController().signal)).rejects.toThrow('nobody answers');
    const again = early.open(new AbortController().signal);
    model.settled().open();
    expect(await again).toBe(model.embedder);
    expect(model.seen.opened).toBe(2);
  });

  it.each([
    ['before', true],
    ['after', false],
  ])('aborts opening if the signal of the call is aborted %s the call', (_when, isBefore) => {
    const model = slowModel();
    const early = openEmbedderEarly(model.open);
    const controller = new AbortController();
    if (isBefore) controller.abort();
    void early.open(controller.signal);
    controller.abort();
    expect(model.seen.aborted).toBe(1);
  });

  it('closes an abandoned model even if opening completes later', async () => {
    const model = slowModel();
    const abandoned = openEmbedderEarly(model.open).abandon();
    expect(model.seen.aborted).toBe(1);
    model.settled().open();
    await abandoned;
    expect(model.seen.closed).toBe(1);
  });

  it('openEmbedderEarly does not close a model that a caller already uses when it is abandoned', async () => {
    const model = slowModel();
    const early = openEmbedderEarly(model.open);
    const asked = early.open(new AbortController().signal);
    model.settled().open();
    await asked;
    await early.abandon();
    expect(model.seen).toEqual({ opened: 1, closed: 0, aborted: 0 });
  });

  it('causes no unhandled rejection if opening fails before the first call', async () => {
    const model = slowModel();
    const early = openEmbedderEarly(model.open);
    model.settled().fail(new Error('no such model'));
    await expect(early.abandon()).resolves.toBeUndefined();
  });
});
