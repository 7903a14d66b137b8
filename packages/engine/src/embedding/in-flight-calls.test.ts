import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { InFlightCalls } from './thread.ts';

const END_ONE_CALL = `
  const { workerData, parentPort } = require('node:worker_threads');
  parentPort.once('message', () => setTimeout(() => {
    Atomics.sub(workerData, 0, 1);
    Atomics.notify(workerData, 0);
  }, 100));
  parentPort.postMessage('ready');`;

describe('InFlightCalls', () => {
  it('waits until the thread has ended a call, even though the event loop is blocked', async () => {
    const calls = new InFlightCalls();
    const thread = new Worker(END_ONE_CALL, { eval: true, workerData: calls.cell });
    await new Promise((resolve) => thread.once('message', resolve));
    void calls.count(() => new Promise(() => {}));
    thread.postMessage('go');
    expect(calls.cell[0]).toBe(1);
    calls.waitUntilIdle(60_000);
    expect(calls.cell[0]).toBe(0);
    await thread.terminate();
  });

  it('InFlightCalls does not count calls of a terminated thread', async () => {
    const calls = new InFlightCalls();
    const died = () => Promise.reject(new Error('the thread died'));
    const both = await Promise.allSettled([calls.count(died), calls.count(died)]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(calls.cell[0]).toBe(0);
  });

  it('InFlightCalls still counts a running call after another call has failed', async () => {
    const calls = new InFlightCalls();
    void calls.count(() => new Promise(() => {}));
    await expect(calls.count(() => Promise.reject(new Error('it failed')))).rejects.toThrow('it failed');
    expect(calls.cell[0]).toBeGreaterThan(0);
  });

  it('stops waiting at the timeout', () => {
    const calls = new InFlightCalls();
    void calls.count(() => new Promise(() => {}));
    calls.waitUntilIdle(1);
    expect(calls.cell[0]).toBe(1);
  });
});
