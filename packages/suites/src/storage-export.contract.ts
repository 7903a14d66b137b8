import { hash } from 'node:crypto';
import { type ImportResponse, LIMITS } from '@memoryd/contract';
import type { NewMemory } from '@memoryd/core';
import { createSeal, EventLog, exportLines, importLines } from '@memoryd/core/operations';
import { propertyRuns } from '@memoryd/search/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { deeds, Life } from './life.fixture.ts';
import { NOW, type StorageUnderTest } from './storage.fixture.ts';

const encoder = new TextEncoder();

/** Contract tests of the `ExportStorage` port: export, import and copies. */
export function exportStorageContract(open: () => Promise<StorageUnderTest>): void {
  let database: StorageUnderTest;
  let other: StorageUnderTest;
  let namespaces = 0;
  let namespace: string;
  let life: Life;

  beforeAll(async () => {
    [database, other] = [await open(), await open()];
  });
  beforeEach(() => {
    life = newLife();
  });
  afterAll(async () => {
    try {
      for (const { storage } of [database, other]) expect(await storage.integrity()).toEqual([]);
    } finally {
      await Promise.all([database.close(), other.close()]);
    }
  });

  /** Returns the life of a new namespace. */
  function newLife(): Life {
    namespace = `namespace ${++namespaces}`;
    return new Life(namespace);
  }

  const events = new EventLog({ now: () => NOW }, { next: () => 'log' });

  async function exported({ storage }: StorageUnderTest): Promise<string[]> {
    const lines: string[] = [];
    for await (const line of exportLines(storage, namespace)) lines.push(line);
    return lines;
  }

  async function imported({ storage }: StorageUnderTest, lines: readonly string[]): Promise<ImportResponse> {
    async function* bytes() {
      for (const line of lines) yield encoder.encode(line);
    }
    return importLines({ storage, events }, namespace, bytes());
  }

  type Line = Record<string, unknown> & { id: string };
  const parsed = (lines: readonly string[]) => lines.slice(1).map((line) => JSON.parse(line) as Line);

  /** Stores duplicates, a correction, a distilled memory with a history, and an archived memory. */
  async function storeSome(): Promise<void> {
    const { storage } = database;
    for (const [id, content, fields] of [
      ['cat', 'Mimi sleeps on Ada’s sofa.', {}],
      ['duplicate', 'Mimi sleeps on Ada’s sofa.', { createdAt: 5 }],
      ['fish', 'Mimi eats fish.', {}],
      ['wrong', 'Ada lives in Oslo.', {}],
      ['right', 'Ada lives in Rome.', { supersedes: 'wrong' }],
      ['over', 'Only for today.', { expiresAt: NOW + 50 }],
    ] satisfies [string, string, Partial<NewMemory>][]) {
      await storage.store(life.newMemory(id, content, fields));
    }
    await storage.update({ namespace, id: 'fish', at: NOW + 20, content: 'Mimi eats salmon.' });
    life.time = NOW + 100;
    await life.consolidate(database, async (run) => {
      await storage.promote(run, { promotedUntil: life.time, now: life.time }, 20);
      await storage.mergeDuplicates(run, NOW, 20);
      await storage.evictExpired(run, life.time, 20);
      const sources = (await life.seen(database)).filter(({ id }) => id === 'duplicate' || id === 'fish');
      await storage.distil(run, { id: 'semantic', content: 'Mimi sleeps and eats.', sources, at: life.time });
      await storage.dropCandidates(run, await life.seen(database));
    });
  }

  const GOLDEN: Line = {
    id: 'fish',
    content: 'Mimi eats salmon.',
    tags: [],
    importance: 0.5,
    source: 'api',
    session_id: 'default',
    tier: 'episodic',
    metadata: {},
    created_at: '2025-12-31T23:59:57.003Z',
    stored_at: '2026-01-01T00:00:00.003Z',
    updated_at: '2026-01-01T00:00:00.020Z',
    expires_at: null,
    valid_from: null,
    valid_to: null,
    evicted_at: null,
    supersedes: null,
    superseded_by: [],
    merged_into: null,
    derived_from: [],
    formerly_derived_from: [],
    version: 2,
    revision: 2,
    distilled_revision: null,
    access_count: 0,
    accessed_at: null,
    history: [{ revision: 1, content: 'Mimi eats fish.', replaced_at: '2026-01-01T00:00:00.020Z' }],
    awaits: [],
  };
  const header = (lines?: number) =>
    JSON.stringify({ format: 'memoryd', version: 1, ...(lines !== undefined && { lines }) });

  describe('the secret of a database', () => {
    it('differs from the secret of another database', async () => {
      const secrets = [await database.storage.secret(), await other.storage.secret()];
      for (const secret of secrets) expect(secret).toMatch(/^[0-9a-f]{32}$/);
      expect(new Set(secrets).size).toBe(2);
    });
  });

  describe('an export', () => {
    it('an export can be imported in one or two parts, and the imported data is exported with the same bytes', async () => {
      await fc.assert(
        fc.asyncProperty(deeds, fc.option(fc.double({ min: 0, max: 1, noNaN: true })), async (steps, part) => {
          await newLife().happen(database, steps);
          const lines = await exported(database);
          if (part !== null) await imported(other, lines.slice(0, 1 + Math.floor(part * (lines.length - 1))));
          const { imported_count, unchanged_count, ...rest } = await imported(other, lines);
          expect(imported_count + unchanged_count).toBe(lines.length - 1);
          expect(rest).toEqual({ refused_count: 0, refused: [], unlinked_count: 0 });
          expect(await exported(other)).toEqual(lines);
        }),
        // Each run takes a second, and shrinking a failure takes many runs.
        { numRuns: propertyRuns(12), endOnFailure: true },
      );
    }, 120_000);

    it('starts with a header with format and line count, followed by all fields of each memory', async () => {
      await storeSome();
      const lines = await exported(database);
      expect(lines[0]).toBe('{"format":"memoryd","version":1,"lines":7}');
      expect(lines[3]).toBe(JSON.stringify(GOLDEN));
      const memories = parsed(lines);
      expect(memories.map(({ id }) => id)).toEqual(['cat', 'duplicate', 'fish', 'wrong', 'right', 'over', 'semantic']);
      expect(memories[0]).toMatchObject({ merged_into: 'duplicate' });
      expect(memories[3]).toMatchObject({ superseded_by: ['right'] });
      expect(memories[4]).toMatchObject({ supersedes: 'wrong' });
      expect(memories[5]).toMatchObject({ evicted_at: '2026-01-01T00:00:00.101Z' });
      expect(memories[6]).toMatchObject({ tier: 'semantic', session_id: null, derived_from: ['duplicate', 'fish'] });
    });

    it('contains a semantic memory after its first source, even if that source was stored after the semantic memory', async () => {
      await storeSome();
      const { storage } = database;
      await storage.store(life.newMemory('late', 'Mimi purrs.'));
      await life.consolidate(database, async (run) => {
        await storage.promote(run, { promotedUntil: life.time, now: life.time }, 20);
        const live = await life.seen(database);
        const semantic = live.find(({ id }) => id === 'semantic')?.ordinal ?? 0;
        const sources = live.filter(({ id }) => id === 'late');
        await storage.refresh(run, { semantic, content: 'Mimi purrs.', sources, at: life.time });
      });
      await storage.store(life.newMemory('later', 'another'));
      const lines = await exported(database);
      expect(
        parsed(lines)
          .map(({ id }) => id)
          .slice(-3),
      ).toEqual(['late', 'semantic', 'later']);
      await imported(other, lines);
      expect(await exported(other)).toEqual(lines);
    });

    it('contains the memories of one namespace, and can be imported into another namespace', async () => {
      await storeSome();
      const lines = await exported(database);
      const first = namespace;
      newLife();
      expect(await exported(database)).toEqual([header(0)]);
      await imported(database, lines);
      expect(await exported(database)).toEqual(lines);
      namespace = first;
      expect(await exported(database)).toEqual(lines);
    });

    it('an export is not created if the signal is aborted', async () => {
      const exporting = database.storage.exportRecords('default', {}, AbortSignal.abort());
      await expect(exporting).rejects.toThrow(/abort|was given up|closed/i);
    });

    it('an export is a snapshot that later writes do not change', async () => {
      await storeSome();
      const { storage } = database;
      const before = await exported(database);
      const lines: string[] = [];
      for await (const line of exportLines(storage, namespace)) {
        if (lines.length === 1) {
          await storage.store(life.newMemory('new', 'too late'));
          await storage.forget(namespace, 'right');
        }
        lines.push(line);
      }
      expect(lines).toEqual(before);
    });
  });

  describe('an import', () => {
    it('completes a truncated import, and changes nothing when it is repeated', async () => {
      await storeSome();
      const lines = await exported(database);
      expect(await imported(other, lines.slice(0, 4))).toMatchObject({
        imported_count: 3,
        refused: [{ line: 5, error: { code: 'INVALID_REQUEST', message: expect.stringContaining('incomplete') } }],
      });
      expect(await imported(other, lines)).toMatchObject({ imported_count: 4, unchanged_count: 3, refused_count: 0 });
      expect(await imported(other, lines)).toMatchObject({ imported_count: 0, unchanged_count: 7, refused_count: 0 });
      expect(await exported(other)).toEqual(lines);
    });

    it('an import does not overwrite the access count of an existing memory', async () => {
      await storeSome();
      const lines = await exported(database);
      await imported(other, lines);
      const [first] = await life.seen(other);
      await other.storage.recordAccess([{ namespace, ordinal: first?.ordinal ?? 0, count: 3, at: life.time }]);
      expect(await imported(other, lines)).toMatchObject({ unchanged_count: 7 });
      expect((await other.storage.memory(namespace, first?.id ?? '', life.time))?.accessCount).toBe(3);
    });

    it('refuses a memory if the existing memory with its id has another text or was changed, and overwrites nothing', async () => {
      await storeSome();
      const lines = await exported(database);
      await other.storage.store(life.newMemory('cat', 'another cat'));
      const response = await imported(other, lines);
      expect(response).toMatchObject({ imported_count: 6, refused_count: 1, unlinked_count: 0 });
      expect(response.refused).toMatchObject([{ line: 2, error: { code: 'CONFLICT' } }]);
      expect((await other.storage.memory(namespace, 'cat', life.time))?.content).toBe('another cat');
      await other.storage.update({ namespace, id: 'fish', at: life.time, importance: 1 });
      expect((await imported(other, lines)).refused.map(({ line }) => line)).toEqual([2, 4]);
      expect((await other.storage.memory(namespace, 'fish', life.time))?.importance).toBe(1);
    });

    it('stores memories whose ids belong to another user under new ids, and links later and earlier lines to them', async () => {
      await storeSome();
      const lines = await exported(database);
      const asBen = lines.map((line, i) => (i === 0 ? line : JSON.stringify({ ...JSON.parse(line), user_id: 'ben' })));
      // The semantic memory must follow one of its sources. All other memories precede the memories that they name.
      const [first = '', ...rest] = asBen;
      const reordered = [first, ...rest.slice(1, 6).reverse(), rest[0] ?? '', rest[6] ?? ''];
      const stream = events.follow(createSeal('0'.repeat(32)), namespace, { user_id: 'ben' })[Symbol.asyncIterator]();
      const { new_ids = {}, ...response } = await imported(database, reordered);
      expect(response).toEqual({
        imported_count: 7,
        unchanged_count: 0,
        refused_count: 0,
        refused: [],
        unlinked_count: 0,
      });
      const oldIds = parsed(lines).map(({ id }) => id);
      expect(Object.keys(new_ids).sort()).toEqual(oldIds.toSorted());
      const toNew = (id: unknown) => (id === null ? null : new_ids[id as string]);
      const expected = parsed(asBen).map(({ id, supersedes, superseded_by, merged_into, derived_from, ...line }) => ({
        ...line,
        id: toNew(id),
        supersedes: toNew(supersedes),
        superseded_by: (superseded_by as string[]).map(toNew),
        merged_into: toNew(merged_into),
        derived_from: (derived_from as string[]).map(toNew),
      }));
      const byId = (one: { id: unknown }, other: { id: unknown }) => (String(one.id) < String(other.id) ? -1 : 1);
      const all = parsed(await exported(database));
      expect(all.filter((line) => line.user_id === 'ben').sort(byId)).toEqual(expected.sort(byId));
      expect(all.filter((line) => line.user_id === undefined)).toEqual(parsed(lines));
      const { value: event } = await stream.next();
      await stream.return?.();
      expect(new Set(event.memory_ids)).toEqual(new Set(Object.values(new_ids)));
      expect(await imported(database, reordered)).toMatchObject({ imported_count: 0, unchanged_count: 7, new_ids });
    });

    it('links memories with new ids in different parts of a long import', async () => {
      const line = (id: string, fields: object = {}) =>
        JSON.stringify({ ...GOLDEN, id, content: `of ${id}`, ...fields });
      const ids = Array.from({ length: 600 }, (_, i) => `m${i}`);
      await imported(database, [header(), ...ids.map((id) => line(id))]);
      const ofBen = ids.map((id, i) =>
        line(id, { user_id: 'ben', ...(i < 300 ? { superseded_by: [ids[599 - i]] } : { supersedes: ids[599 - i] }) }),
      );
      const { new_ids = {}, unlinked_count } = await imported(database, [header(), ...ofBen]);
      expect([Object.keys(new_ids).length, unlinked_count]).toEqual([600, 0]);
      for (const { id, user_id, supersedes, superseded_by } of parsed(await exported(database))) {
        const place = Object.values(new_ids).indexOf(id);
        if (user_id !== 'ben') continue;
        const link = new_ids[ids[599 - place] ?? ''];
        expect([supersedes, superseded_by], id).toEqual(place < 300 ? [null, [link]] : [link, []]);
      }
    });

    it('drops links to missing memories, and keeps the memories with dropped links visible', async () => {
      await storeSome();
      const incomplete = (await exported(database))
        .filter((line) => !/^\{"id":"(duplicate|right)"/.test(line))
        .slice(1);
      const response = await imported(other, [header(), ...incomplete]);
      expect(response).toMatchObject({ imported_count: 5, refused_count: 0, unlinked_count: 3 });
      const left = new Map(parsed(await exported(other)).map((line) => [line.id, line]));
      expect(left.get('cat')).toMatchObject({ merged_into: null });
      expect(left.get('wrong')).toMatchObject({ superseded_by: [] });
      expect(left.get('semantic')).toMatchObject({ derived_from: ['fish'] });
      expect((await life.seen(other)).map(({ id }) => id)).toEqual(['cat', 'fish', 'wrong', 'semantic']);
    });

    it('adds links that were missing before, and stores a duplicate so that the next consolidation can merge it', async () => {
      await storeSome();
      const lines = await exported(database);
      const incomplete = lines.filter((line) => !line.startsWith('{"id":"duplicate"')).slice(1);
      expect(await imported(other, [header(), ...incomplete])).toMatchObject({ imported_count: 6, unlinked_count: 2 });
      const survivorFirst = [lines[0], lines[2], lines[1], ...lines.slice(3)] as string[];
      expect(await imported(other, survivorFirst)).toMatchObject({
        imported_count: 1,
        unchanged_count: 6,
        unlinked_count: 0,
      });
      const semantic = () => other.storage.memory(namespace, 'semantic', life.time);
      expect(new Set((await semantic())?.derivedFrom)).toEqual(new Set(['duplicate', 'fish']));
      await life.consolidate(other, async (run) => {
        await other.storage.promote(run, { promotedUntil: life.time, now: life.time }, 20);
        expect(await other.storage.mergeDuplicates(run, NOW, 20)).toMatchObject({ count: 1 });
      });
      await other.storage.forget(namespace, 'duplicate');
      expect(await semantic()).toBeUndefined();
    });

    it('refuses a semantic memory if another semantic memory already has one of its sources', async () => {
      await storeSome();
      const lines = await exported(database);
      const sources = lines.filter((line) => /^\{"id":"(duplicate|fish)"/.test(line));
      await imported(other, [header(), ...sources]);
      await life.consolidate(other, async (run) => {
        const fish = (await life.seen(other)).filter(({ id }) => id === 'fish');
        await other.storage.distil(run, { id: 'own', content: 'Mimi eats salmon.', sources: fish, at: life.time });
      });
      const response = await imported(other, lines);
      expect(response.refused).toMatchObject([{ error: { details: [{ path: '/derived_from' }] } }]);
      expect(await other.storage.memory(namespace, 'semantic', life.time)).toBeUndefined();
    });

    it('stores a semantic memory whose text a client wrote, even without its sources', async () => {
      await storeSome();
      await database.storage.update({ namespace, id: 'semantic', at: life.time, content: 'mine' });
      const semantic = (await exported(database)).at(-1) ?? '';
      expect(await imported(other, [header(), semantic])).toMatchObject({ imported_count: 1, refused_count: 0 });
      expect(await other.storage.integrity()).toEqual([]);
    });

    it('refuses a semantic memory if none of its sources exists', async () => {
      await storeSome();
      const semantic = (await exported(database)).at(-1) ?? '';
      const response = await imported(other, [header(), semantic]);
      expect(response.refused).toMatchObject([{ line: 2, error: { details: [{ path: '/derived_from' }] } }]);
      expect(await exported(other)).toEqual([header(0)]);
    });

    const broken: [what: string, line: string, path: string][] = [
      ['invalid JSON', '{"id":', ''],
      ['a line that is not an object', '[]', ''],
      ['a JSON string', '"content"', ''],
      ['a missing field', JSON.stringify({ ...GOLDEN, history: undefined }), '/history'],
      ['an unknown field', JSON.stringify({ ...GOLDEN, colour: 'red' }), '/colour'],
      ['a wrong type', JSON.stringify({ ...GOLDEN, version: '2' }), '/version'],
      ['an empty id', JSON.stringify({ ...GOLDEN, id: '' }), '/id'],
      ['a blank text', JSON.stringify({ ...GOLDEN, content: ' ' }), '/content'],
      ['U+0000', JSON.stringify({ ...GOLDEN, content: 'a\0' }), '/content'],
      [
        'U+0000 in an earlier text',
        JSON.stringify({ ...GOLDEN, history: [{ ...(GOLDEN.history as [object])[0], content: '\0a' }] }),
        '/history',
      ],
      ['an invalid time', JSON.stringify({ ...GOLDEN, stored_at: 'noon' }), '/stored_at'],
      [
        'a year that is out of range',
        JSON.stringify({ ...GOLDEN, created_at: '9999-12-31T23:59:59-01:00' }),
        '/created_at',
      ],
      ['an unknown tier', JSON.stringify({ ...GOLDEN, tier: 'eternal' }), '/tier'],
      ['a semantic memory in a session', JSON.stringify({ ...GOLDEN, tier: 'semantic' }), '/session_id'],
      ['an episode without a session', JSON.stringify({ ...GOLDEN, session_id: null }), '/session_id'],
      ['an episode with sources', JSON.stringify({ ...GOLDEN, derived_from: ['cat'] }), '/derived_from'],
      [
        'an episode with former sources',
        JSON.stringify({ ...GOLDEN, formerly_derived_from: ['cat'] }),
        '/formerly_derived_from',
      ],
      ['an episode that was distilled', JSON.stringify({ ...GOLDEN, distilled_revision: 1 }), '/distilled_revision'],
      ['an earlier text with a newer revision', JSON.stringify({ ...GOLDEN, revision: 1 }), '/history'],
      ['uses without a time', JSON.stringify({ ...GOLDEN, access_count: 1 }), '/accessed_at'],
      ['an invalid digest', '{"declined_group":"0F"}', '/declined_group'],
    ];
    it.each(broken)(
      'refuses %s with its line number and path, and stores the other lines',
      async (_what, line, path) => {
        const good = JSON.stringify(GOLDEN);
        const response = await imported(other, [
          header(3),
          good.replace('fish', 'first'),
          line,
          good.replace('fish', 'last'),
        ]);
        expect(response).toMatchObject({ imported_count: 2, refused_count: 1 });
        expect(response.refused).toMatchObject([{ line: 3, error: { code: 'INVALID_REQUEST', details: [{ path }] } }]);
        expect((await life.seen(other)).map(({ id }) => id)).toEqual(['first', 'last']);
      },
    );

    it('refuses a line that is not UTF-8', async () => {
      async function* bytes() {
        yield encoder.encode(header());
        yield Buffer.from(JSON.stringify(GOLDEN).replace('salmon', '\xff'), 'latin1');
      }
      const response = await importLines({ storage: other.storage, events }, namespace, bytes());
      expect(response.refused).toMatchObject([{ line: 2, error: { code: 'INVALID_REQUEST' } }]);
    });

    it.each(['', '{}', '{"format":"sqlite","version":1}', '{"format":"memoryd","version":2}', JSON.stringify(GOLDEN)])(
      'an import is rejected if the first line is %j',
      async (first) => {
        const importing = imported(other, [first, JSON.stringify(GOLDEN)]);
        await expect(importing).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
        expect(await life.seen(other)).toEqual([]);
      },
    );

    it('an import is rejected without a header, and accepted with only a header', async () => {
      await expect(imported(other, [])).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
      expect(await imported(other, [header(0)])).toMatchObject({ imported_count: 0, refused_count: 0 });
    });

    it('skips empty lines, and counts all refused lines but lists only the first 100', async () => {
      const response = await imported(other, [header(), '', '\r', ...Array.from({ length: 150 }, () => '{}')]);
      expect(response.refused_count).toBe(150);
      expect(response.refused.map(({ line }) => line)).toEqual(Array.from({ length: 100 }, (_, i) => i + 4));
    });

    it('drops inconsistent links of memories, and refuses semantic memories with inconsistent sources', async () => {
      const episode = (id: string, fields: object = {}) => JSON.stringify({ ...GOLDEN, id, ...fields });
      const semantic = { session_id: null, tier: 'semantic', distilled_revision: 2 };
      const response = await imported(other, [
        header(),
        // Duplicates of each other, a duplicate of itself, of a memory that a client moved to another session, and of a
        // hidden duplicate.
        episode('a', { merged_into: 'b' }),
        episode('b', { merged_into: 'a' }),
        episode('c', { merged_into: 'c' }),
        episode('d', { merged_into: 'a', session_id: 'another' }),
        episode('e', { merged_into: 'b' }),
        // Distilled from a semantic memory, and from a source of another semantic memory.
        episode('s', { ...semantic, derived_from: ['c', 'c'] }),
        episode('t', { ...semantic, derived_from: ['s', 'd'] }),
        episode('u', { ...semantic, derived_from: ['c', 'd'] }),
        episode('v', { ...semantic, derived_from: ['v'] }),
        // Archived, but marked as pending for consolidation.
        episode('w', { evicted_at: '2026-01-01T00:00:00.000Z', awaits: ['merging', 'distilling'] }),
        episode('x', { ...semantic, derived_from: ['w'], awaits: ['merging', 'distilling'] }),
        episode('y', { tags: ['same', 'same'], supersedes: 'z', superseded_by: ['z'] }),
        episode('z', { supersedes: 'y', superseded_by: ['y'] }),
      ]);
      expect(response.refused.map(({ line }) => line)).toEqual([8, 9, 10]);
      const again = await exported(other);
      const stored = new Map(parsed(again).map((line) => [line.id, line]));
      expect(stored.get('a')?.merged_into).toBeNull();
      expect(stored.get('b')?.merged_into).toBe('a');
      expect(stored.get('c')?.merged_into).toBeNull();
      expect(stored.get('d')?.merged_into).toBe('a');
      expect(stored.get('e')?.merged_into).toBeNull();
      expect(stored.get('s')?.derived_from).toEqual(['c']);
      expect(stored.get('w')?.awaits).toEqual([]);
      expect(stored.get('y')?.tags).toEqual(['same']);
      await imported(database, again);
      expect(await exported(database)).toEqual(again);
    });

    it.skipIf(!process.env.LONG_TESTS)(
      'stops if its response could not name all new ids',
      async () => {
        const line = (i: number, user_id: string) => JSON.stringify({ ...GOLDEN, id: `m${i}`, history: [], user_id });
        const getLines = (user: string) => [
          header(),
          ...Array.from({ length: LIMITS.newIds + 1 }, (_, i) => line(i, user)),
        ];
        await imported(database, getLines('ann'));
        await expect(imported(database, getLines('ben'))).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
        const { new_ids = {} } = await imported(database, getLines('ben').slice(0, -1));
        expect(Object.keys(new_ids)).toHaveLength(LIMITS.newIds);
      },
      300_000,
    );

    it('creates a backup with the size and the checksum of its bytes', async () => {
      await storeSome();
      const copy = await database.storage.backup();
      const pieces: Uint8Array[] = [];
      for await (const piece of copy.read()) pieces.push(piece);
      const bytes = Buffer.concat(pieces);
      expect(bytes.byteLength).toBe(copy.sizeBytes);
      expect(hash('sha256', bytes, 'base64')).toBe(copy.sha256);
    });

    it('stores memories that can be found by words immediately and are pending for vectors', async () => {
      await storeSome();
      await other.storage.useModel('model');
      await imported(other, await exported(database));
      const search = { namespace, text: 'salmon', filter: {}, now: life.time, poolSize: 10, tailSize: 0 };
      expect((await other.storage.search(search)).found).toBe(1);
      const { pendingEmbeddings } = await other.storage.stats(namespace, life.time);
      expect(pendingEmbeddings).toBe((await life.seen(other)).length);
    });

    it('stores links to duplicates and sources, so that forgetting a memory also forgets its duplicate and its semantic memory', async () => {
      await storeSome();
      await imported(other, await exported(database));
      const forgotten = await other.storage.forget(namespace, 'duplicate');
      expect(forgotten).toMatchObject({ outcome: 'forgotten', alsoForgotten: ['cat', 'semantic'] });
      expect(parsed(await exported(other)).map(({ id }) => id)).not.toContain('semantic');
    });

    it('restores a forgotten memory and the link to its successor, and the successor can then be forgotten', async () => {
      await storeSome();
      const lines = await exported(database);
      await imported(other, lines);
      await other.storage.forget(namespace, 'wrong');
      await imported(other, lines);
      expect(parsed(await exported(other)).find(({ id }) => id === 'right')).toMatchObject({ supersedes: 'wrong' });
      await other.storage.forget(namespace, 'right');
      expect(parsed(await exported(other)).find(({ id }) => id === 'wrong')).toMatchObject({ superseded_by: [] });
      expect(await other.storage.integrity()).toEqual([]);
    });

    it('preserves which memories are pending for the next consolidation', async () => {
      await storeSome();
      await database.storage.store(life.newMemory('new', 'Mimi sleeps on Ada’s sofa.'));
      await imported(other, await exported(database));
      await life.consolidate(other, async (run) => {
        expect((await other.storage.promote(run, { promotedUntil: life.time, now: life.time }, 20)).count).toBe(1);
        const waiting = parsed(await exported(other)).filter(({ awaits }) => (awaits as string[]).length > 0);
        expect(waiting.map(({ id }) => id)).toEqual(['new']);
        expect((await other.storage.mergeDuplicates(run, NOW, 20)).count).toBe(1);
      });
    });

    it('queues memories that were not distilled again with the next run, because the rules may have been older', async () => {
      await storeSome();
      await life.consolidate(other, async (run) => {
        expect(await other.storage.requeuePassedOver(run, 20)).toEqual({ count: 0, more: false });
      });
      await imported(other, await exported(database));
      await life.consolidate(other, async (run) => {
        expect(await other.storage.requeuePassedOver(run, 20)).toEqual({ count: 1, more: false });
        const waiting = parsed(await exported(other)).filter(({ awaits }) => (awaits as string[]).length > 0);
        expect(waiting.map(({ id }) => id)).toEqual(['right']);
      });
    });

    it('preserves that a group is not distilled again after a client has forgotten its semantic memory', async () => {
      await storeSome();
      await database.storage.forget(namespace, 'semantic');
      const lines = await exported(database);
      expect(lines.at(-1)).toMatch(/^\{"declined_group":"[0-9A-F]{64}"\}$/);
      await imported(other, lines);
      const joining = (await life.seen(other))
        .filter(({ id }) => id === 'duplicate' || id === 'fish')
        .map(({ ordinal }) => ordinal);
      expect(joining).toHaveLength(2);
      const group = await other.storage.readGroup({ namespace, joining, promotedUntil: life.time, now: life.time });
      expect(group.isClosed).toBe(true);
    });
  });
}
