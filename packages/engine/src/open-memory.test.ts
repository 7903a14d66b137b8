import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MemoryApi } from '@memoryd/contract';
import type { Telemetry } from '@memoryd/core';
import { memoryApiContract } from '@memoryd/suites';
import Sqlite from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startEmbeddingServer } from './embedding/embedding-server.fixture.ts';
import { ENGINE_DEFAULTS } from './engine-defaults.ts';
import { type OpenMemoryOptions, openMemory } from './open-memory.ts';

const QUIET = { embedder: 'none', consolidationIntervalSeconds: 0 } satisfies OpenMemoryOptions;

function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'memoryd-open-'));
}

/** Returns a path in a folder that is removed when the test ends. */
function newPath(): string {
  const folder = newFolder();
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'not there yet', 'memory.db');
}

/**
 * Waits until recall uses vectors: stores a text that shares no word with a question, and polls until the question
 * finds it. On a busy machine, opening the model takes a long time.
 */
async function waitForVectors(memory: MemoryApi): Promise<void> {
  const { id } = await memory.store({ content: 'Maria is allergic to peanuts and shellfish.' });
  await expect
    .poll(async () => {
      const { results } = await memory.recall({ query: 'What foods must the cook avoid?', top_k: 1 });
      return results.map((result) => result.id);
    })
    .toEqual([id]);
}

describe('openMemory', () => {
  memoryApiContract(async () => {
    const folder = newFolder();
    const memory = await openMemory(join(folder, 'memory.db'), QUIET);
    return {
      memory,
      async close() {
        await memory.close();
        rmSync(folder, { recursive: true });
      },
    };
  });

  it('returns a memory that can be closed repeatedly, rejects calls after closing, and keeps memories in its file', async () => {
    const path = newPath();
    const first = await openMemory(path, QUIET);
    const { id } = await first.store({ content: 'kept over night' });
    await Promise.all([first.close(), first.close()]);
    await first.close();
    await expect(first.stats()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    const again = await openMemory(path, QUIET);
    expect(await again.memory(id)).toMatchObject({ content: 'kept over night' });
    await again.close();
  });

  it.each([[undefined], [''], [{ dbPath: 'memory.db' }]])('rejects the database %j', async (database) => {
    await expect(openMemory(database as string, QUIET)).rejects.toThrow(/^database must be /);
  });

  it.each(['dataBase', 'embeder', 'redactt', 'dbPath', 'databaseUrl'])(
    'rejects the unknown option %s before opening the database',
    async (name) => {
      const path = newPath();
      const opening = openMemory(path, { ...QUIET, [name]: path });
      await expect(opening).rejects.toThrow(TypeError);
      await expect(opening).rejects.toThrow(new RegExp(`\\b${name}\\b`));
      expect(existsSync(path)).toBe(false);
    },
  );

  it('treats undefined options like absent options', async () => {
    const names = [...Object.keys(ENGINE_DEFAULTS), 'namespace', 'telemetry', 'redact', 'clock', 'keepModel'];
    const path = newPath();
    const memory = await openMemory(path, Object.fromEntries(names.map((name) => [name, undefined])));
    const { id } = await memory.store({ content: 'Maria is allergic to peanuts.' });
    expect((await memory.recall({ query: 'peanuts' })).results.map((result) => result.id)).toEqual([id]);
    expect((await memory.stats()).embedding).toMatchObject({ model: expect.stringMatching(/^minilm/) });
    await memory.consolidate();
    await memory.close();
    const same = await openMemory(path, { ...QUIET, namespace: 'default' });
    expect((await same.memory(id)).id).toBe(id);
    await same.close();
  });

  it('rejects a namespace that is invalid for API keys', async () => {
    const path = newPath();
    await expect(openMemory(path, { ...QUIET, namespace: 'team b' })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
    });
    expect(existsSync(path)).toBe(false);
  });

  it('rejects a database that cannot be opened, and an unknown embedder', async () => {
    await expect(openMemory('/dev/null/memory.db', QUIET)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(openMemory(newPath(), { embedder: 'other' })).rejects.toThrow(TypeError);
  });

  it('openMemory does not change the model of the database with keepModel, and reports that recall uses only words', async () => {
    const path = newPath();
    const server = await startEmbeddingServer();
    onTestFinished(() => server.close());
    const first = await openMemory(path, { ...QUIET, embedder: 'openai:hashed-words', embeddingUrl: server.url });
    await first.store({ content: 'Ada is allergic to peanuts' });
    const { embedding } = await first.stats();
    await first.close();
    const reported: (string | undefined)[] = [];
    const telemetry: Telemetry = { report: ({ error }) => reported.push((error as Error | undefined)?.message) };
    const second = await openMemory(path, { keepModel: true, consolidationIntervalSeconds: 0, telemetry });
    expect((await second.recall({ query: 'peanuts' })).total).toBe(1);
    expect((await second.stats()).embedding).toEqual(embedding);
    await second.close();
    expect(reported).toContain(
      `the database has vectors of ${embedding?.model}, and this command does not re-embed the database`,
    );
    const third = await openMemory(newPath(), { keepModel: true, consolidationIntervalSeconds: 0 });
    await third.store({ content: 'the first memory' });
    expect((await third.stats()).embedding).toMatchObject({ model: expect.stringMatching(/^minilm/), embedded: 1 });
    await third.close();
  });
});

describe('an opened memory', () => {
  it('an opened memory does not return memories of another namespace', async () => {
    const path = newPath();
    const [ours, theirs] = await Promise.all([openMemory(path, QUIET), openMemory(path, { ...QUIET, namespace: 'b' })]);
    const { id } = await ours.store({ content: 'ours' });
    await expect(theirs.memory(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await Promise.all([ours.close(), theirs.close()]);
  });

  it('reports the memories that a failed bulk forget has deleted', async () => {
    const path = newPath();
    const memory = await openMemory(path, QUIET);
    await memory.storeBatch(Array.from({ length: 250 }, (_, i) => ({ content: `text ${i}`, tags: ['gone'] })));
    const other = new Sqlite(path);
    other.exec(`
      CREATE TRIGGER failing BEFORE DELETE ON memory WHEN (SELECT count(*) FROM memory) <= 150
      BEGIN SELECT RAISE(ABORT, 'no further'); END`);
    other.close();
    const controller = new AbortController();
    const event = memory
      .events({ type: ['forgotten'] }, controller.signal)
      [Symbol.asyncIterator]()
      .next();
    await expect(memory.forgetMany({ tag: 'gone' })).rejects.toThrow();
    expect((await event).value).toMatchObject({ type: 'forgotten', count: 100 });
    controller.abort();
    await memory.close();
  });

  it('recalls by vectors by default, and rejects a running recall when it is closed', async () => {
    const memory = await openMemory(newPath());
    await memory.store({ content: 'The night train to Vienna leaves from platform nine.' });
    await waitForVectors(memory);
    const recalled = memory.recall({ query: 'Mitä teimme eilen?' });
    await Promise.all([expect(recalled).rejects.toMatchObject({ code: 'UNAVAILABLE' }), memory.close()]);
  });

  it('emits a process warning for errors', async () => {
    const warned = once(process, 'warning');
    const embedder = { embedder: 'openai:none', embeddingUrl: 'http://127.0.0.1:9/v1' };
    const memory = await openMemory(newPath(), { ...QUIET, ...embedder });
    await memory.store({ content: 'never embedded' });
    expect((await warned)[0]).toMatchObject({ name: 'MemorydWarning', message: expect.stringMatching(/^memoryd: /) });
    await memory.close();
  });
});
