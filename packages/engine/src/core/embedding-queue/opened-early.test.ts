import { describe, expect, it } from 'vitest';
import { type Embedder, EmbedderUnavailable } from '../../ports/embedder.ts';
import { openedEarly } from './opened-early.ts';

/** A model that opens when it is told to, and tells what has become of it. */
function slowModel() {
  const seen = { opened: 0, closed: 0, givenUp: 0 };
  let settle: { open: () => void; fail: (error: Error) => void } = { open: () => {}, fail: () => {} };
  const embedder: Embedder = {
    modelId: 'slow',
    dimensions: 1,
    largestBatch: 1,
    embed: async (texts) => texts.map(() => ({ vectors: [Float32Array.of(1)] })),
    close: async () => void seen.closed++,
  };
  return {
    seen,
    embedder,
    settled: () => settle,
    open: (signal: AbortSignal) => {
      seen.opened++;
      signal.addEventListener('abort', () => seen.givenUp++);
      return new Promise<Embedder>((resolve, reject) => {
        settle = { open: () => resolve(embedder), fail: reject };
      });
    },
  };
}

describe('a model that is opened early', () => {
  it('begins to open before anybody asks for it, and is opened once for the first who does', async () => {
    const model = slowModel();
    const early = openedEarly(model.open);
    expect(model.seen.opened).toBe(1);
    const asked = early.open(new AbortController().signal);
    model.settled().open();
    expect(await asked).toBe(model.embedder);
    expect(model.seen).toEqual({ opened: 1, closed: 0, givenUp: 0 });
  });

  it('is opened anew for whoever asks after it has failed', async () => {
    const model = slowModel();
    const early = openedEarly(model.open);
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
  ])('is given up with who asks for it, be that %s asking', (_when, isBefore) => {
    const model = slowModel();
    const early = openedEarly(model.open);
    const asker = new AbortController();
    if (isBefore) asker.abort();
    void early.open(asker.signal);
    asker.abort();
    expect(model.seen.givenUp).toBe(1);
  });

  it('is closed when it is abandoned, whether it has opened by then or not', async () => {
    const model = slowModel();
    const abandoned = openedEarly(model.open).abandon();
    expect(model.seen.givenUp).toBe(1);
    model.settled().open();
    await abandoned;
    expect(model.seen.closed).toBe(1);
  });

  it('is not closed by being abandoned when somebody has it', async () => {
    const model = slowModel();
    const early = openedEarly(model.open);
    const asked = early.open(new AbortController().signal);
    model.settled().open();
    await asked;
    await early.abandon();
    expect(model.seen).toEqual({ opened: 1, closed: 0, givenUp: 0 });
  });

  it('may fail while nobody asks', async () => {
    const model = slowModel();
    const early = openedEarly(model.open);
    model.settled().fail(new Error('no such model'));
    await expect(early.abandon()).resolves.toBeUndefined();
  });
});
