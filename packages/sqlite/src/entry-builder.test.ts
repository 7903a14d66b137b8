import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newMemory } from '@memoryd/suites';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EntryBuilder } from './entry-builder.ts';
import { buildEntry } from './recall-entry.ts';
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

/** Counts the calls to the thread. The call with the number `failing` fails. */
function createCountingThread(failing?: number) {
  const calls = { started: 0, ended: 0 };
  const thread: Thread = {
    ...reader,
    async call<T>(name: string, argument?: unknown) {
      calls.started += 1;
      try {
        if (calls.started === failing) throw new Error('the thread has died');
        return await reader.call<T>(name, argument);
      } finally {
        calls.ended += 1;
      }
    },
  };
  return { thread, calls };
}

const getEntries = (memories: typeof MEMORIES) => Buffer.concat(memories.map((memory) => buildEntry(memory, 0)));

describe('EntryBuilder', () => {
  it('builds the same index entries in the read thread as in the write thread', async () => {
    const { thread, calls } = createCountingThread();
    const take = new EntryBuilder(thread, 0).begin(MEMORIES);
    await expect.poll(() => calls.ended).toBe(4);
    expect(Buffer.compare(take(), getEntries(MEMORIES))).toBe(0);
  });

  it('returns no index entries if they are requested immediately, and does not build them later', async () => {
    const { thread, calls } = createCountingThread();
    const builder = new EntryBuilder(thread, 0);
    expect(builder.begin(MEMORIES)()).toHaveLength(0);
    const take = builder.begin(MEMORIES.slice(0, 3));
    await expect.poll(() => calls.ended).toBe(1);
    expect(Buffer.compare(take(), getEntries(MEMORIES.slice(0, 3)))).toBe(0);
    expect(calls.started).toBe(1);
  });

  it('returns only the index entries before the first failed slice', async () => {
    const { thread, calls } = createCountingThread(2);
    const take = new EntryBuilder(thread, 0).begin(MEMORIES);
    await expect.poll(() => calls.ended).toBe(4);
    expect(Buffer.compare(take(), getEntries(MEMORIES.slice(0, 32)))).toBe(0);
  });

  it('builds no index entries for memories queued before the start threshold is reached', async () => {
    const { thread, calls } = createCountingThread();
    const builder = new EntryBuilder(thread, 100);
    const before = builder.begin(MEMORIES);
    const after = builder.begin(MEMORIES);
    await expect.poll(() => calls.ended).toBe(4);
    expect(before()).toHaveLength(0);
    expect(after().length).toBeGreaterThan(0);
  });

  it('splits long texts into small slices, so that reads can run between two slices', async () => {
    const { thread, calls } = createCountingThread();
    const long = Array.from({ length: 4 }, (_, i) => newMemory({ id: `l${i}`, content: `word${i} `.repeat(1500) }));
    const take = new EntryBuilder(thread, 0).begin(long);
    await expect.poll(() => calls.ended).toBe(4);
    expect(Buffer.compare(take(), getEntries(long))).toBe(0);
  });
});
