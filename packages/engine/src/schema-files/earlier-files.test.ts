import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { openSqlite } from '@memoryd/sqlite';
import { MIGRATIONS, migrate, openForWriting } from '@memoryd/sqlite/testing';
import Sqlite from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../engine.ts';
import { type FilledFile, getContents, openAt, waitUntilEmbedded } from './filled-file.fixture.ts';

const FIXTURES = fileURLToPath(new URL('../../fixtures/', import.meta.url));

const versions = readdirSync(FIXTURES)
  .map((name) => /^schema-([0-9]+)\.db\.gz$/.exec(name)?.[1])
  .filter((version) => version !== undefined)
  .map(Number);
const OLDEST = Math.min(...versions);

/** Returns migrations whose last step fails after filling more pages than SQLite's cache holds. */
const getFailingMigrations = (how: string) => [
  ...MIGRATIONS,
  `CREATE TABLE half (bytes);
   INSERT INTO half WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
     SELECT randomblob(200000) FROM n;
   DELETE FROM memory; DROP TABLE recall_entry; ${how}`,
];

/** Writes the fixture of an earlier schema to a path and returns its expected contents. */
function unpack(version: number, path: string): FilledFile {
  writeFileSync(path, gunzipSync(readFileSync(join(FIXTURES, `schema-${version}.db.gz`))));
  return JSON.parse(readFileSync(join(FIXTURES, `schema-${version}.json`), 'utf8')) as FilledFile;
}

it('the fixtures include a file of every earlier schema', () => {
  const earlier = Array.from({ length: MIGRATIONS.length - 1 }, (_, i) => i + 1);
  expect(versions).toEqual(expect.arrayContaining([1, ...earlier]));
  expect(Math.max(...versions)).toBeLessThanOrEqual(MIGRATIONS.length);
});

/**
 * Tests of a file after opening, whichever version wrote it. They share one file, in order: it is opened first without
 * a model, then with one.
 */
function testFile(version: number): void {
  let folder: string;
  let path: string;
  let filled: FilledFile;
  let engine: Engine;
  let now: number;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'memoryd-'));
    path = join(folder, 'memory.db');
    filled = unpack(version, path);
    now = filled.madeAt;
    engine = await openAt(path, () => now, { embedder: 'none' });
  });
  afterAll(async () => {
    await engine.close();
    rmSync(folder, { recursive: true });
  });

  function readFolder(): Buffer {
    return Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))));
  }

  it('returns all data of the file', async () => {
    for (const [namespace, contents] of Object.entries(filled.contents)) {
      const ids = contents.memories.map(({ id }) => id);
      expect(await getContents(engine.namespace(namespace), ids)).toMatchObject(contents);
    }
    expect((await engine.namespace('default').stats()).pending_embeddings).toBeGreaterThanOrEqual(filled.pending);
  });

  it('recalls every memory by its own words', async () => {
    for (const [namespace, { memories }] of Object.entries(filled.contents)) {
      for (const memory of memories.filter(({ merged_into }) => merged_into === null)) {
        const { results } = await engine
          .namespace(namespace)
          .recall({ query: memory.content.slice(0, 500), top_k: 10 });
        expect(
          results.map(({ id }) => id),
          memory.content,
        ).toContain(memory.id);
      }
    }
  });

  it('recognizes idempotency keys that were used before', async () => {
    const api = engine.namespace('default');
    const { key, request, id } = filled.repeated;
    expect(await api.store(request, { idempotencyKey: key })).toMatchObject({ id });
    await expect(api.store({ content: 'other' }, { idempotencyKey: key })).rejects.toMatchObject({ code: 'CONFLICT' });
  });

  it('returns no forgotten memories, and leaves none of their words in the file', async () => {
    const api = engine.namespace('default');
    for (const id of filled.forgotten.ids) await expect(api.memory(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(readFolder().includes(filled.forgotten.word)).toBe(false);
  });

  it('undoes the eviction of the latest run in the file', async () => {
    const { namespace, runId, ids } = filled.evicted;
    const api = engine.namespace(namespace);
    for (const id of ids) await expect(api.memory(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await api.undo(runId);
    for (const id of ids) expect((await api.memory(id)).tier).toBe('working');
  });

  it('embeds pending memories, and recalls them by their vectors', async () => {
    await engine.close();
    engine = await openAt(path, () => now, { embedder: 'minilm' });
    for (const { namespace, query, id } of filled.asked) {
      const api = engine.namespace(namespace);
      await waitUntilEmbedded(api);
      const { results } = await api.recall({ query, explain: true });
      const getEvidence = (one: (typeof results)[number] | undefined) => one?.explanation?.evidence;
      const answer = results.find((result) => result.id === id);
      // A memory without words of the query must be nearest by embedding; one with synonyms may rank before it.
      const isByMeaningAlone = getEvidence(answer)?.words === 0;
      const meaning = (one: (typeof results)[number]) => getEvidence(one)?.meaning ?? 0;
      const ordered = isByMeaningAlone ? results.toSorted((a, b) => meaning(b) - meaning(a)) : results;
      expect(ordered[0]?.id, query).toBe(id);
      expect(results.slice(0, 2), query).toContain(answer);
    }
  });

  it('an opened earlier file does not distil a group again after its semantic memory was forgotten', async () => {
    const api = engine.namespace('team b');
    await waitUntilEmbedded(api);
    await api.consolidate();
    expect((await api.stats()).semantic_count).toBe(0);
  });

  it('supports all operations', async () => {
    const api = engine.namespace('default');
    now += 3_600_000;
    const { id } = await api.store({ content: 'A heron stood in the shallows.', tags: ['bird'], session_id: 'today' });
    const { stored_count } = await api.storeBatch([{ content: 'A bittern called.' }, { content: 'A heron flew off.' }]);
    expect(stored_count).toBe(2);
    await api.update(id, { content: 'A grey heron stood in the shallows.', metadata: { seen: 2 } });
    expect((await api.history(id)).texts).toHaveLength(2);
    expect((await api.recall({ query: 'grey heron', tag: ['bird'] })).results[0]?.id).toBe(id);
    expect((await api.memories({ tag: ['bird'] })).memories.map((memory) => memory.id)).toEqual([id]);
    expect((await api.session({ session_id: 'today' })).total).toBe(1);
    const runs = (await api.consolidations({})).total;
    const run = await api.consolidate();
    expect(run.self_check).not.toBe('failed');
    expect((await api.memory(id)).tier).toBe('episodic');
    expect((await api.consolidations({})).total).toBe(runs + 1);
    await api.undo(run.id ?? '');
    expect((await api.memory(id)).tier).toBe('working');
    const known = filled.contents.default?.memories.find(({ version }) => version > 1);
    await api.forget(known?.id ?? '');
    await api.forgetMany({ session_id: 'today' });
    await expect(api.memory(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(api.memory(known?.id ?? '')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await waitUntilEmbedded(api);
    await engine.close();
    for (const text of ['grey heron', known?.content ?? '']) expect(readFolder().includes(text)).toBe(false);
  });

  it('leaves a file that passes the integrity check', async () => {
    await engine.close();
    const { storage } = await openSqlite({ path, workingMax: 10_000, recalls: false });
    expect(await storage.integrity()).toEqual([]);
    await storage.close();
  });
}

describe.each(versions)('the engine on a file of schema %i', testFile);

describe('migrating a file of an earlier schema', () => {
  let folder: string;
  let path: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'memoryd-'));
    path = join(folder, 'memory.db');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const readVersion = () => {
    const file = new Sqlite(path, { readonly: true });
    try {
      return file.pragma('user_version', { simple: true });
    } finally {
      file.close();
    }
  };

  it.each(versions)('changes schema %i into the schema of a new file', (version) => {
    unpack(version, path);
    expect(readVersion()).toBe(version);
    const schemas = [path, join(folder, 'new.db')].map((name) => {
      const file = openForWriting(name);
      migrate(file);
      const schema = file.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY type, name').all();
      file.close();
      return schema;
    });
    expect(schemas[0]).toEqual(schemas[1]);
  });

  it('applies an additional migration, and preserves the data', () => {
    unpack(OLDEST, path);
    const file = openForWriting(path);
    const memories = () => file.prepare('SELECT * FROM memory ORDER BY ordinal').all();
    const before = memories();
    migrate(file, [...MIGRATIONS, 'CREATE TABLE later (name)']);
    expect(file.prepare('SELECT * FROM later').all()).toEqual([]);
    expect(memories()).toEqual(before);
    file.close();
    expect(readVersion()).toBe(MIGRATIONS.length + 1);
  });

  it('leaves the file unchanged byte for byte if a migration fails', () => {
    unpack(OLDEST, path);
    const before = readFileSync(path);
    const file = openForWriting(path);
    expect(() => migrate(file, getFailingMigrations('SELECT no_such_function();'))).toThrow(/no_such_function/);
    file.close();
    expect(readdirSync(folder)).toEqual(['memory.db']);
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it('migrating a file of an earlier schema is rolled back if the process is killed, and is completed at the next start', async () => {
    const { contents, madeAt } = unpack(OLDEST, path);
    const script = `
      import { migrate, openForWriting } from '@memoryd/sqlite/testing';
      const file = openForWriting(process.argv[1]);
      file.function('die', { deterministic: false }, () => process.kill(process.pid, 'SIGKILL'));
      migrate(file, JSON.parse(process.argv[2]));`;
    const args = ['--input-type=module', '--eval', script, path, JSON.stringify(getFailingMigrations('SELECT die();'))];
    expect(spawnSync(process.execPath, args).signal).toBe('SIGKILL');
    expect(readVersion()).toBe(OLDEST);
    const engine = await openAt(path, () => madeAt, { embedder: 'none' });
    const expected = contents.default as FilledFile['contents'][string];
    const ids = expected.memories.map(({ id }) => id);
    expect(await getContents(engine.namespace('default'), ids)).toMatchObject(expected);
    await engine.close();
    expect(readVersion()).toBe(MIGRATIONS.length);
  });
});
