import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newMemory } from '../../ports/new-memory.fixture.ts';
import { EntryMaker } from './entry-maker.ts';
import { getEntry } from './recall-entry.ts';
import { startThread, type Thread } from './storage-thread.ts';

const MEMORIES = Array.from({ length: 100 }, (_, i) =>
  newMemory({ id: `m${i}`, content: `Ann: turn ${i} of a conversation about gardens`, tags: [`t${i}`] }),
);

let folder: string;
let reader: Thread;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memoryd-'));
  reader = startThread('read-thread', { path: join(folder, 'memory.db') }, 10);
});
afterEach(async () => {
  await reader.stop();
  await rm(folder, { recursive: true });
});

/** The thread, and how many calls it was asked and has answered; a call of `failing` never comes to it. */
function watched(failing?: number) {
  const calls = { asked: 0, ended: 0 };
  const thread: Thread = {
    ...reader,
    async call<T>(name: string, argument?: unknown) {
      calls.asked += 1;
      try {
        if (calls.asked === failing) throw new Error('the thread has died');
        return await reader.call<T>(name, argument);
      } finally {
        calls.ended += 1;
      }
    },
  };
  return { thread, calls };
}

const getEntries = (memories: typeof MEMORIES) => Buffer.concat(memories.map((memory) => getEntry(memory, 0)));

describe('entries of what waits to be written', () => {
  it('are made by the thread that reads, as who writes makes them', async () => {
    const { thread, calls } = watched();
    const take = new EntryMaker(thread, 0).begin(MEMORIES);
    await expect.poll(() => calls.ended).toBe(4);
    expect(Buffer.compare(take(), getEntries(MEMORIES))).toBe(0);
  });

  it('are left to who writes where it is their turn before, and then nobody makes them twice', async () => {
    const { thread, calls } = watched();
    const maker = new EntryMaker(thread, 0);
    expect(maker.begin(MEMORIES)()).toHaveLength(0);
    const take = maker.begin(MEMORIES.slice(0, 3));
    await expect.poll(() => calls.ended).toBe(1);
    expect(Buffer.compare(take(), getEntries(MEMORIES.slice(0, 3)))).toBe(0);
    expect(calls.asked).toBe(1);
  });

  it('are left to who writes from the first on that could not be made', async () => {
    const { thread, calls } = watched(2);
    const take = new EntryMaker(thread, 0).begin(MEMORIES);
    await expect.poll(() => calls.ended).toBe(4);
    expect(Buffer.compare(take(), getEntries(MEMORIES.slice(0, 32)))).toBe(0);
  });

  it('are left to who writes until so many have come that the thread is worth it', async () => {
    const { thread, calls } = watched();
    const maker = new EntryMaker(thread, 100);
    const before = maker.begin(MEMORIES);
    const after = maker.begin(MEMORIES);
    await expect.poll(() => calls.ended).toBe(4);
    expect(before()).toHaveLength(0);
    expect(after().length).toBeGreaterThan(0);
  });

  it('are made of few long texts at a time, so that reads come between', async () => {
    const { thread, calls } = watched();
    const long = Array.from({ length: 4 }, (_, i) => newMemory({ id: `l${i}`, content: `word${i} `.repeat(1500) }));
    const take = new EntryMaker(thread, 0).begin(long);
    await expect.poll(() => calls.ended).toBe(4);
    expect(Buffer.compare(take(), getEntries(long))).toBe(0);
  });
});
