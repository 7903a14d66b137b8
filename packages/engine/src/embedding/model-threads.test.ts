import { describe, expect, it } from 'vitest';
import type { Lane } from './lanes.ts';
import { ModelThreads } from './model-threads.ts';
import type { Thread } from './thread.ts';

/** A thread whose calls end when the test ends them. */
function createHeldThread() {
  const running: Lane[] = [];
  const ends: (() => void)[] = [];
  let isStopped = false;
  const thread: Thread = {
    async embedParts(windows, lane) {
      running.push(lane);
      await new Promise<void>((resolve) => ends.push(resolve));
      running.splice(running.indexOf(lane), 1);
      return windows.map(({ length }) => ({ vector: Float32Array.of(1), length, tokens: 1 }));
    },
    stop: async () => {
      isStopped = true;
    },
  };
  return { thread, running, isStopped: () => isStopped, endCalls: () => ends.splice(0).forEach((end) => void end()) };
}

/** Opens two threads, of which the second loads its model until `endLoading` is called. */
function open({ loads = true } = {}) {
  const [first, second] = [createHeldThread(), createHeldThread()];
  let starts = 0;
  let endLoading = () => {};
  const start = () => {
    starts++;
    return new Promise<Thread>((resolve, reject) => {
      endLoading = () => (loads ? resolve(second.thread) : reject(new Error('out of memory')));
    });
  };
  const threads = new ModelThreads(first.thread, { start, maxThreads: 2 });
  return { threads, first, second, getStarts: () => starts, endLoading: () => endLoading() };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('the threads of a model', () => {
  it('start a further thread once, and use it when its model is loaded', async () => {
    const { threads, first, second, getStarts, endLoading } = open();
    void threads.embedParts(['one'], 'query');
    threads.grow();
    threads.grow();
    expect([threads.capacity, getStarts()]).toEqual([1, 1]);
    endLoading();
    await settle();
    expect(threads.capacity).toBe(2);
    void threads.embedParts(['two'], 'query');
    expect([first.running, second.running]).toEqual([['query'], ['query']]);
    threads.grow();
    expect(getStarts()).toBe(1);
  });

  it('embed memories beside a query in the thread without a query, and queries where no memory is embedded', async () => {
    const { threads, first, second, endLoading } = open();
    threads.grow();
    endLoading();
    await settle();
    void threads.embedParts(['what'], 'query');
    void threads.embedParts(['text'], 'short');
    expect([first.running, second.running]).toEqual([['query'], ['short']]);
    first.endCalls();
    await settle();
    void threads.embedParts(['what'], 'query');
    expect([first.running, second.running]).toEqual([['query'], ['short']]);
  });

  it('embed everything in the first thread if a further one cannot load the model, and do not try again', async () => {
    const { threads, first, getStarts, endLoading } = open({ loads: false });
    threads.grow();
    endLoading();
    await settle();
    threads.grow();
    expect([threads.capacity, getStarts()]).toEqual([1, 1]);
    void threads.embedParts(['one'], 'query');
    expect(first.running).toEqual(['query']);
  });

  it('stop a thread whose model is still being loaded', async () => {
    const { threads, first, second, endLoading } = open();
    threads.grow();
    const stopped = threads.stop();
    endLoading();
    await stopped;
    expect([first.isStopped(), second.isStopped()]).toEqual([true, true]);
  });
});
