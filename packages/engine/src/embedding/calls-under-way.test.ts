import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { CallsUnderWay } from './thread.ts';

const END_A_CALL = `
  const { workerData, parentPort } = require('node:worker_threads');
  parentPort.once('message', () => setTimeout(() => {
    Atomics.sub(workerData, 0, 1);
    Atomics.notify(workerData, 0);
  }, 100));
  parentPort.postMessage('ready');`;

describe('calls under way', () => {
  it('are counted until the thread has ended them, though nobody here can be told', async () => {
    const calls = new CallsUnderWay();
    const thread = new Worker(END_A_CALL, { eval: true, workerData: calls.cell });
    await new Promise((resolve) => thread.once('message', resolve));
    void calls.count(() => new Promise(() => {}));
    thread.postMessage('go');
    expect(calls.cell[0]).toBe(1);
    calls.awaitNone(60_000);
    expect(calls.cell[0]).toBe(0);
    await thread.terminate();
  });

  it('of a thread that died are no longer counted', async () => {
    const calls = new CallsUnderWay();
    const died = () => Promise.reject(new Error('the thread died'));
    const both = await Promise.allSettled([calls.count(died), calls.count(died)]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(calls.cell[0]).toBe(0);
  });

  it('are not forgotten for another that has failed', async () => {
    const calls = new CallsUnderWay();
    void calls.count(() => new Promise(() => {}));
    await expect(calls.count(() => Promise.reject(new Error('it failed')))).rejects.toThrow('it failed');
    expect(calls.cell[0]).toBeGreaterThan(0);
  });

  it('are not waited for for ever', () => {
    const calls = new CallsUnderWay();
    void calls.count(() => new Promise(() => {}));
    calls.awaitNone(1);
    expect(calls.cell[0]).toBe(1);
  });
});
