import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { IndexKeeper } from './index-keeper.ts';

/** A keeper, and how often it has looked; the first so many looks leave something for the next. */
function keeperOf({ longLooks = 0 } = {}) {
  const looks = { count: 0 };
  const keeper = new IndexKeeper({
    call: async <T>() => (looks.count++ >= longLooks) as T,
    close: async () => {},
    stop: async () => {},
  });
  return { keeper, looks };
}

/** Long enough for every rest to be over. */
const restsOver = () => delay(200);

describe('what keeps the index near the file', () => {
  it('looks at the file when something may have been written, and no more', async () => {
    const { keeper, looks } = keeperOf();
    keeper.rouse();
    await restsOver();
    expect(looks.count).toBe(1);
    keeper.rouse();
    await restsOver();
    expect(looks.count).toBe(2);
    await keeper.stop();
  });

  it('looks once for all that is written while it rests', async () => {
    const { keeper, looks } = keeperOf();
    keeper.rouse();
    await Promise.resolve();
    for (let write = 0; write < 100; write++) keeper.rouse();
    await restsOver();
    expect(looks.count).toBe(2);
    await keeper.stop();
  });

  it('goes on until the index is there', async () => {
    const { keeper, looks } = keeperOf({ longLooks: 50 });
    keeper.rouse();
    await expect.poll(() => looks.count).toBe(51);
    await keeper.stop();
  });

  it('does not look again when it is stopped while it rests', async () => {
    const { keeper, looks } = keeperOf();
    keeper.rouse();
    await Promise.resolve();
    keeper.rouse();
    await keeper.stop();
    await restsOver();
    expect(looks.count).toBe(1);
  });

  it('leaves what fails to the next search, and looks again after the next write', async () => {
    let calls = 0;
    const keeper = new IndexKeeper({
      call: async () => {
        calls++;
        throw new Error('the file cannot be read');
      },
      close: async () => {},
      stop: async () => {},
    });
    keeper.rouse();
    await restsOver();
    expect(calls).toBe(1);
    keeper.rouse();
    await restsOver();
    expect(calls).toBe(2);
    await keeper.stop();
  });
});
