import { describe, expect, it } from 'vitest';
import { Backpressure } from './backpressure.ts';

/** Creates work that ends on demand. */
function createWork() {
  let end: (outcome?: Error) => void = () => {};
  const done = new Promise<void>((resolve, reject) => {
    end = (error) => (error ? reject(error) : resolve());
  });
  return { done, end };
}

/** Whether a promise has resolved after all immediate work is done. */
async function hasResolved(promise: Promise<void>): Promise<boolean> {
  let resolved = false;
  void promise.then(() => {
    resolved = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return resolved;
}

/** Longer than any test. */
const VERY_LONG_MS = 1_000_000;

describe('Backpressure', () => {
  it('Backpressure does not pause without active work', async () => {
    expect(await hasResolved(new Backpressure().pause(VERY_LONG_MS))).toBe(true);
  });

  it('pauses until the last active work has ended or failed', async () => {
    const backpressure = new Backpressure();
    const [first, second] = [createWork(), createWork()];
    backpressure.track(first.done);
    backpressure.track(second.done);
    const pause = backpressure.pause(VERY_LONG_MS);
    first.end();
    expect(await hasResolved(pause)).toBe(false);
    second.end(new Error('failed'));
    expect(await hasResolved(pause)).toBe(true);
  });

  it('resumes after the maximum pause if the active work does not end', async () => {
    const backpressure = new Backpressure();
    backpressure.track(createWork().done);
    await backpressure.pause(1);
    await backpressure.pause(VERY_LONG_MS);
  });
});
