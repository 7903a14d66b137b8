import { describe, expect, it, onTestFinished } from 'vitest';
import { SearchThreads } from './search-threads.ts';
import type { Thread } from './storage-thread.ts';

/** A thread whose calls end when the test ends them. */
interface HeldThread extends Thread {
  /** Names of the calls in progress, except those that build the index. */
  readonly running: string[];
  endCalls(): void;
  endIndex(): void;
}

function createHeldThread(): HeldThread {
  const running: string[] = [];
  const ends: (() => void)[] = [];
  let endIndex = () => {};
  const index = new Promise<void>((resolve) => {
    endIndex = resolve;
  });
  return {
    running,
    endCalls: () => ends.splice(0).forEach((end) => void end()),
    endIndex,
    async call<T>(name: string) {
      if (name === 'follow') {
        await index;
        return true as T;
      }
      running.push(name);
      await new Promise<void>((resolve) => ends.push(resolve));
      running.splice(running.indexOf(name), 1);
      return name as T;
    },
    close: async () => {},
    stop: async () => {},
  };
}

/** Opens search threads. `threads` are those that were started. */
async function open(maxThreads: number) {
  const threads: HeldThread[] = [];
  const start = () => {
    const thread = createHeldThread();
    threads.push(thread);
    return thread;
  };
  const searcher = new SearchThreads(start, maxThreads);
  onTestFinished(async () => {
    for (const { endIndex, endCalls } of threads) {
      endIndex();
      endCalls();
    }
    await searcher.close();
  });
  return { searcher, threads };
}

/** Resolves when all promises that can be settled now are settled. */
const settle = () => new Promise((resolve) => setImmediate(resolve));
const getRunning = (threads: readonly HeldThread[]) => threads.map(({ running }) => running.length);

describe('search threads', () => {
  it('run as many searches at once as there are threads, and share further ones evenly', async () => {
    const { searcher, threads } = await open(3);
    searcher.followWrites();
    for (let i = 0; i < 3; i++) {
      threads[i]?.endIndex();
      await settle();
      void searcher.call('search');
      void searcher.call('search');
    }
    await settle();
    expect(getRunning(threads)).toEqual([2, 2, 2]);
    threads[1]?.endCalls();
    await settle();
    void searcher.call('search');
    expect(getRunning(threads)).toEqual([2, 1, 2]);
  });

  it('start a further thread only when a search has to wait for another', async () => {
    const { searcher, threads } = await open(2);
    searcher.followWrites();
    threads[0]?.endIndex();
    await settle();
    for (const name of ['quickRead', 'distilCandidates']) void searcher.call(name);
    void searcher.call('search');
    expect(threads).toHaveLength(1);
    void searcher.call('search');
    expect(threads).toHaveLength(2);
  });

  it('start no further thread while an index is being built, and give that thread no calls', async () => {
    const { searcher, threads } = await open(3);
    searcher.followWrites();
    for (let i = 0; i < 4; i++) void searcher.call('search');
    expect(getRunning(threads), 'calls wait for the first index').toEqual([4]);
    threads[0]?.endIndex();
    await settle();
    for (let i = 0; i < 4; i++) void searcher.call('search');
    expect(getRunning(threads)).toEqual([8, 0]);
    threads[1]?.endIndex();
    await settle();
    void searcher.call('search');
    expect(getRunning(threads)).toEqual([8, 1]);
  });

  it('check the index of every thread that has one', async () => {
    const { searcher, threads } = await open(2);
    searcher.followWrites();
    threads[0]?.endIndex();
    await settle();
    for (let i = 0; i < 2; i++) void searcher.call('search');
    void searcher.callEach('checkIndex');
    expect(threads.map(({ running }) => running.includes('checkIndex'))).toEqual([true, false]);
    threads[1]?.endIndex();
    await settle();
    void searcher.callEach('checkIndex');
    expect(threads.map(({ running }) => running.includes('checkIndex'))).toEqual([true, true]);
  });

  it('take turns if none is busy, so that each follows the writes of other processes', async () => {
    const { searcher, threads } = await open(2);
    searcher.followWrites();
    for (const i of [0, 1]) {
      threads[i]?.endIndex();
      await settle();
      for (let calls = 0; calls < 2; calls++) void searcher.call('search');
    }
    for (const thread of threads) thread.endCalls();
    await settle();
    const turns: number[][] = [];
    for (let calls = 0; calls < 3; calls++) {
      void searcher.call('search');
      turns.push(getRunning(threads));
      for (const thread of threads) thread.endCalls();
      await settle();
    }
    expect(turns[0]).not.toEqual(turns[1]);
    expect(turns[2]).toEqual(turns[0]);
  });

  it('start no thread after they are closed, and none that the machine refuses', async () => {
    const { searcher, threads } = await open(2);
    searcher.followWrites();
    threads[0]?.endIndex();
    await settle();
    await searcher.close();
    for (let calls = 0; calls < 2; calls++) void searcher.call('search');
    expect(threads).toHaveLength(1);

    const only = createHeldThread();
    let starts = 0;
    const refused = new SearchThreads(() => {
      if (starts++ > 0) throw new Error('too many threads');
      return only;
    }, 2);
    refused.followWrites();
    only.endIndex();
    await settle();
    for (let calls = 0; calls < 3; calls++) void refused.call('search');
    expect([starts, only.running.length]).toEqual([2, 3]);
    only.endCalls();
  });
});
