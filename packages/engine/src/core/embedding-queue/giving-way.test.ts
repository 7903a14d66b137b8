import { describe, expect, it } from 'vitest';
import { GivingWay } from './giving-way.ts';

/** Work that ends when it is told to. */
function someWork() {
  let end: (outcome?: Error) => void = () => {};
  const done = new Promise<void>((resolve, reject) => {
    end = (error) => (error ? reject(error) : resolve());
  });
  return { done, end };
}

/** Whether something has resolved when everything that could go on at once has gone on. */
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

describe('what gives way', () => {
  it('goes on at once where nothing is under way', async () => {
    expect(await hasResolved(new GivingWay().pause(VERY_LONG_MS))).toBe(true);
  });

  it('pauses until the last of what is under way has ended, also by failing', async () => {
    const givingWay = new GivingWay();
    const [first, second] = [someWork(), someWork()];
    givingWay.to(first.done);
    givingWay.to(second.done);
    const pause = givingWay.pause(VERY_LONG_MS);
    first.end();
    expect(await hasResolved(pause)).toBe(false);
    second.end(new Error('failed'));
    expect(await hasResolved(pause)).toBe(true);
  });

  it('goes on in the end, whatever is under way', async () => {
    const givingWay = new GivingWay();
    givingWay.to(someWork().done);
    await givingWay.pause(1);
    await givingWay.pause(VERY_LONG_MS);
  });
});
