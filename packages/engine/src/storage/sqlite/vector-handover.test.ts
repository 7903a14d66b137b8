import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import type { QueryVector } from '../../ports/storage-search.ts';
import { MOST_DIMENSIONS } from '../../recall-index/recall-index.ts';
import { VectorHandover } from './vector-handover.ts';

const made = (modelId = 'modèle', values = [0.25, -1]): QueryVector => ({ modelId, values: Float32Array.from(values) });

/** What the other side takes once this has settled. */
async function taken(making: Promise<QueryVector | undefined>, handover = new VectorHandover()) {
  handover.begin(making);
  await making.catch(() => {});
  return new VectorHandover(handover.memory).take();
}

const WAIT_IN_A_THREAD = `
  const { workerData: memory, parentPort } = require('node:worker_threads');
  const head = new Int32Array(memory);
  parentPort.postMessage('waiting');
  parentPort.postMessage(Atomics.wait(head, 0, 0, 60_000));`;

describe('a vector that is handed over', () => {
  it('is what was made, one after the other', async () => {
    const handover = new VectorHandover();
    expect(await taken(Promise.resolve(made()), handover)).toEqual({ vector: made() });
    expect(await taken(Promise.resolve(made('m', [3])), handover)).toEqual({ vector: made('m', [3]) });
    const largest = made(
      'large',
      Array.from({ length: MOST_DIMENSIONS }, (_, i) => i),
    );
    expect(await taken(Promise.resolve(largest), handover)).toEqual({ vector: largest });
  });

  it('may be none', async () => {
    expect(await taken(Promise.resolve(undefined))).toEqual({ vector: undefined });
  });

  it('is not, where it could not be made or has no room', async () => {
    expect(await taken(Promise.reject(new Error('no model')))).toBeUndefined();
    expect(await taken(Promise.resolve(made('é'.repeat(600))))).toBeUndefined();
    expect(await taken(Promise.resolve(made('m', Array(MOST_DIMENSIONS + 1).fill(1))))).toBeUndefined();
  });

  it('is waited for, but not for long', () => {
    const handover = new VectorHandover();
    handover.begin(new Promise(() => {}));
    expect(handover.take()).toBeUndefined();
  });

  it('is told of to a thread that waits', async () => {
    const handover = new VectorHandover();
    let make = (_: QueryVector) => {};
    handover.begin(
      new Promise<QueryVector>((resolve) => {
        make = resolve;
      }),
    );
    const thread = new Worker(WAIT_IN_A_THREAD, { eval: true, workerData: handover.memory });
    const next = () => new Promise((resolve) => thread.once('message', resolve));
    await next();
    const woken = next();
    make(made());
    expect(await woken).toMatch(/^(ok|not-equal)$/);
    expect(handover.take()).toEqual({ vector: made() });
    await thread.terminate();
  });

  it('is none that comes after its turn', async () => {
    const handover = new VectorHandover();
    let make = (_: QueryVector) => {};
    const late = new Promise<QueryVector>((resolve) => {
      make = resolve;
    });
    handover.begin(late)();
    const second = taken(Promise.resolve(made('second')), handover);
    make(made('first'));
    expect(await second).toEqual({ vector: made('second') });
  });
});
