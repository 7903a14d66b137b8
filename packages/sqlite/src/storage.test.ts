import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Storage } from '@memoryd/core';
import { NO_QUOTAS } from '@memoryd/core';
import { newMemory } from '@memoryd/suites';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Attempt } from './failure.ts';
import { GroupCommit } from './group-commit.ts';
import { sqliteStorage, type Threads } from './open.ts';
import { SearchThreads } from './search-threads.ts';
import { startThread, type Thread } from './storage-thread.ts';

/** Maximum queued calls per thread. */
const MAX_QUEUE = 10;

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memoryd-'));
  path = join(folder, 'memory.db');
});
afterEach(() => rm(folder, { recursive: true }));

const start = (name: string, maxQueue = MAX_QUEUE) => startThread(name, { path }, maxQueue);

async function open(
  own: Partial<Record<keyof Threads, Thread>>,
  searcher?: SearchThreads,
): Promise<{ storage: Storage; threads: Threads }> {
  const threads = {
    writer: own.writer ?? start('write-thread'),
    reader: own.reader ?? start('read-thread'),
    lister: own.lister ?? start('read-thread'),
    searcher: searcher ?? new SearchThreads(() => own.searcher ?? start('search-thread'), 1),
  };
  const { writer } = threads;
  await writer.call('open');
  const { storage } = sqliteStorage({
    path,
    limits: { workingMax: 1000, quota: NO_QUOTAS },
    threads,
    writes: new GroupCommit((calls) => writer.call<Attempt<unknown>[]>('commit', calls)),
    telemetry: undefined,
  });
  return { storage, threads };
}

describe('closing the storage or one of its threads', () => {
  it('succeeds even if the queue of a thread is full', async () => {
    const { storage } = await open({ reader: start('read-thread', 0) });
    await storage.store(newMemory({ id: 'one' }));
    await expect(storage.namespaces()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await storage.close();
    expect(await readdir(folder)).toEqual(['memory.db']);
  });

  it('waits for the earlier calls of the thread, and rejects later calls', async () => {
    const { storage, threads } = await open({});
    const earlier = Array.from({ length: MAX_QUEUE }, () => storage.stats('default', 2));
    const closing = threads.reader.close();
    await expect(storage.secret()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(await Promise.all(earlier)).toHaveLength(MAX_QUEUE);
    await closing;
    for (const thread of [threads.searcher, threads.lister, threads.writer]) await thread.close();
  });

  it('closes all other threads if closing one thread fails, and rejects with the error of that thread', async () => {
    const dying = start('search-thread');
    const searcher: Thread = {
      ...dying,
      async close() {
        await dying.stop();
        throw new Error('the thread has died');
      },
    };
    const { storage, threads } = await open({ searcher });
    await storage.store(newMemory({ id: 'one' }));
    await expect(storage.close()).rejects.toThrow('the thread has died');
    expect(await readdir(folder)).toEqual(['memory.db']);
    for (const thread of [threads.reader, threads.lister, threads.writer]) {
      await expect(thread.call('open')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    }
  });
});

describe('a long read', () => {
  it('a long read does not delay the health check, single memories, statistics or recall', async () => {
    const lister = start('read-thread');
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const slow: Thread = {
      ...lister,
      async call<T>(name: string, argument?: unknown) {
        await ended;
        return lister.call<T>(name, argument);
      },
    };
    const { storage } = await open({ lister: slow });
    await storage.store(newMemory({ id: 'one', content: 'red heron' }));
    const page = { limit: 5, maxBytes: 1e6 };
    const long = [
      storage.memories('default', { tags: ['t'] }, page, 2),
      storage.growth('default', {}, [1], 2),
      storage.session('default', 'default', page, 2),
      storage.sessions('default', { tier: 'working' }, page, 2),
      storage.stats('default', 2, { userIds: ['ann'] }),
      storage.integrity(),
    ];
    await storage.probe(2, 0);
    expect(await storage.memory('default', 'one', 2)).toMatchObject({ content: 'red heron' });
    expect(await storage.stats('default', 2)).toMatchObject({ working_count: 1 });
    const request = { namespace: 'default', text: 'red heron', filter: {}, now: 2, poolSize: 5, tailSize: 0 };
    expect((await storage.search(request)).candidateCount).toBe(1);
    expect(await Promise.race([...long, 'still running'])).toBe('still running');
    end();
    await Promise.all(long);
    await storage.close();
  });
});

describe.each(['reader', 'searcher'] as const)('while the %s is busy', (name) => {
  it('statistics are read by the other thread, and wait in the busy thread only once', async () => {
    const thread = start(name === 'reader' ? 'read-thread' : 'search-thread');
    let endWork = () => {};
    const work = new Promise<void>((resolve) => {
      endWork = resolve;
    });
    let waiting = 0;
    const busy: Thread = {
      ...thread,
      async call<T>(verb: string, argument?: unknown) {
        waiting++;
        await work;
        return thread.call<T>(verb, argument);
      },
    };
    const { storage } = await open({ [name]: busy });
    await storage.store(newMemory({ id: 'one' }));
    const before = waiting;
    for (let times = 0; times < 3; times++) {
      expect(await storage.stats('default', 2)).toMatchObject({ working_count: 1 });
    }
    expect(waiting - before).toBe(1);
    endWork();
    await storage.close();
  });
});

describe('two search threads', () => {
  it('both see every acknowledged write, and have the index of the file', async () => {
    const answered: number[] = [];
    const searcher = new SearchThreads(() => {
      const thread = start('search-thread', 100);
      const place = answered.push(0) - 1;
      return {
        ...thread,
        async call<T>(name: string, argument?: unknown) {
          const result = await thread.call<T>(name, argument);
          if (name === 'search') answered[place] = (answered[place] as number) + 1;
          return result;
        },
      };
    }, 2);
    const { storage } = await open({}, searcher);
    searcher.followWrites();
    const search = async () => {
      const request = { namespace: 'default', text: 'red heron', filter: {}, now: 2, poolSize: 500, tailSize: 0 };
      return (await storage.search(request)).candidateCount;
    };
    let stored = 0;
    for (; stored < 300 && !answered.every((count) => count >= 20); stored++) {
      await storage.store(newMemory({ id: `heron-${stored}`, content: `red heron ${stored}` }));
      const found = await Promise.all(Array.from({ length: 4 }, search));
      expect(found).toEqual(Array(4).fill(stored + 1));
    }
    expect(answered.map((count) => count >= 20)).toEqual([true, true]);
    expect(await storage.integrity()).toEqual([]);
    await storage.close();
  });
});

describe('many queued stores', () => {
  it('many queued stores build index entries in the read thread and the write thread, and keep the index consistent if some memories are rejected', async () => {
    const built: unknown[] = [];
    const lister = start('read-thread');
    const watched: Thread = {
      ...lister,
      async call<T>(name: string, argument?: unknown) {
        const result = await lister.call<T>(name, argument);
        if (name === 'buildEntries') built.push(result);
        return result;
      },
    };
    const { storage } = await open({ lister: watched });
    // More memories than the threshold of EntryBuilder.
    const chunks = Array.from({ length: 95 }, (_, chunk) =>
      Array.from({ length: 100 }, (_, i) =>
        newMemory({
          id: `${chunk}-${i}`,
          content: `turn ${i} of chunk ${chunk}`,
          tags: i % 10 === 0 ? [`t${i}`] : [],
          supersedes: i % 7 === 3 ? 'nobody' : null,
        }),
      ),
    );
    const outcomes = await Promise.all(chunks.map((chunk) => storage.storeMany(chunk)));
    const stored = outcomes.map((some) => some.filter(({ outcome }) => outcome === 'stored').length);
    expect(stored).toEqual(Array(95).fill(86));
    await expect.poll(() => built.length).toBeGreaterThan(0);
    expect(await storage.integrity()).toEqual([]);
    await storage.close();
  });
});
