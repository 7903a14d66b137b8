import { type ImportedText, LIMITS, type MemoryApi, type MemoryEvent } from '@memoryd/contract';
import { propertyRuns } from '@memoryd/search/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { MemoryApiUnderTest } from './memory-api.contract.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const START = Date.UTC(2026, 0, 1);

/** A clock that tests move. */
interface MovedClock {
  now(): number;
}

/**
 * Contract tests of the imports of a `MemoryApi`. `open` is called once for all tests. The API under test must not
 * consolidate by itself.
 */
export function importsContract(open: (clock: MovedClock) => Promise<MemoryApiUnderTest>): void {
  let opened: MemoryApiUnderTest;
  let memory: MemoryApi;
  let now = START;
  let users = 0;
  beforeAll(async () => {
    opened = await open({ now: () => now });
    memory = opened.memory;
  });
  afterAll(() => opened.close());

  /** Returns a user that no other test uses. */
  const nextUser = () => `user-${++users}`;
  const toText = (id: string, content = `text ${id}`): ImportedText => ({ external_id: id, content });
  const getTexts = async (user_id: string) => {
    const { memories } = await memory.session({ session_id: 'default', user_id, limit: 10_000 });
    return memories.map(({ content }) => content).sort();
  };
  const getImports = async (user_id: string) => (await memory.imports({ user_id })).imports;

  describe('an import of texts', () => {
    it('an import reports each refused text and stores the others with their fields', async () => {
      const user_id = nextUser();
      const texts = [
        { ...toText('a'), created_at: '2024-05-01T10:00:00Z', tags: ['role:user'], metadata: { title: 'Rain' } },
        { ...toText('blank'), content: ' ' },
        { content: 'without an id' },
        null,
        { ...toText('of another'), user_id: 'someone-else' },
        { ...toText('ending'), created_at: '2024-05-01', valid_to: '2023-05-01' },
        { ...toText('replacing'), supersedes: 'nobody' },
        toText('b'),
      ] as ImportedText[];
      const response = await memory.importTexts(toStream(texts), { from: 'chatgpt', name: 'c.json', user_id });
      expect(response).toMatchObject({ imported_count: 2, updated_count: 0, unchanged_count: 0, refused_count: 6 });
      expect(response.refused.map(({ place, error }) => [place, error.code])).toEqual([
        ['blank', 'INVALID_REQUEST'],
        ['text 3', 'INVALID_REQUEST'],
        ['text 4', 'INVALID_REQUEST'],
        ['of another', 'FORBIDDEN'],
        ['ending', 'INVALID_REQUEST'],
        ['replacing', 'NOT_FOUND'],
      ]);
      const { memories } = await memory.session({ session_id: 'default', user_id });
      expect(memories).toMatchObject([
        { external_id: 'a', created_at: '2024-05-01T10:00:00.000Z', tags: ['role:user'] },
        { external_id: 'b', content: 'text b' },
      ]);
      expect(await memory.memory(memories[0]?.id as string)).toMatchObject({
        metadata: { title: 'Rain' },
        source: 'api',
      });
      expect(await getImports(user_id)).toMatchObject([
        { id: response.import_id, from: 'chatgpt', name: 'c.json', user_id, imported_count: 2, memory_count: 2 },
      ]);
    });

    it.each([
      ['an unknown format', { from: 'word' }],
      ['an undefined user', { from: 'csv', user_id: undefined }],
      ['a long name', { from: 'csv', name: 'x'.repeat(LIMITS.importNameChars + 1) }],
    ])('an import with %s reads no text and begins no import', async (_, request) => {
      const before = (await memory.imports()).total;
      const unread = {
        [Symbol.asyncIterator]: () => expect.unreachable(),
      } as AsyncIterable<ImportedText>;
      await expect(memory.importTexts(unread, request as never)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
      expect((await memory.imports()).total).toBe(before);
    });

    it('secrets are removed from imported texts unless the request turns that off', async () => {
      const user_id = nextUser();
      const secret = `ghp_${'a1B2'.repeat(9)}`;
      const texts = [toText('a', `The token is ${secret}.`)];
      const response = await memory.importTexts(toStream(texts), { from: 'csv', user_id });
      expect(response.redacted).toEqual([{ kind: 'github-token', count: 1 }]);
      expect((await getTexts(user_id))[0]).not.toContain(secret);
      const kept = [toText('b', `The token is ${secret}.`)];
      const plain = await memory.importTexts(toStream(kept), { from: 'csv', user_id, redact: false });
      expect(plain).not.toHaveProperty('redacted');
      expect((await getTexts(user_id))[1]).toContain(secret);
    });

    it('a source that fails ends the import; its texts stay, and a repeat two days later stores the rest once', async () => {
      const user_id = nextUser();
      const texts = Array.from({ length: 300 }, (_, i) => toText(`${i}`));
      const request = { from: 'csv', user_id, content_key: 'k' } as const;
      const failure = new Error('the disk is gone');
      await expect(memory.importTexts(toStream(texts, { failAfter: 270, failure }), request)).rejects.toThrow();
      expect(await getTexts(user_id)).toHaveLength(270);
      const [interrupted] = await getImports(user_id);
      expect(interrupted).toMatchObject({ ended_at: null, memory_count: 270 });
      now += 2 * DAY_MS;
      const repeat = await memory.importTexts(toStream(texts), request);
      expect(repeat).toMatchObject({ import_id: interrupted?.id, imported_count: 30, unchanged_count: 270 });
      expect(await getTexts(user_id)).toHaveLength(300);
      expect(await getImports(user_id)).toMatchObject([{ ended_at: expect.any(String), imported_count: 300 }]);
    });

    it('two users import the same file, and the undo of one leaves the memories of the other', async () => {
      const texts = Array.from({ length: 5 }, (_, i) => toText(`${i}`));
      const [ada, ben] = [nextUser(), nextUser()];
      const ids: string[] = [];
      for (const user_id of [ada, ben]) {
        const response = await memory.importTexts(toStream(texts), { from: 'csv', content_key: 'k', user_id });
        expect(response.imported_count).toBe(5);
        ids.push(response.import_id);
      }
      const [id] = ids as [string, string];
      await expect(memory.undoImport(id, { user_id: ben })).rejects.toMatchObject({ code: 'NOT_FOUND' });
      expect(await getTexts(ada)).toHaveLength(5);
      const undone = await memory.undoImport(id, { user_id: ada });
      expect(undone).toMatchObject({ status: 'undone', id, forgotten_count: 5, kept_count: 0 });
      expect(await getTexts(ada)).toEqual([]);
      expect(await getTexts(ben)).toHaveLength(5);
      await expect(memory.undoImport(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    it('a text that was stored under one of its aliases is unchanged', async () => {
      const user_id = nextUser();
      await memory.store({ content: 'by a hook', external_id: 'minute 5', user_id });
      const texts = [
        { ...toText('minute 6'), aliases: ['minute 5'] },
        { ...toText('minute 9'), aliases: ['minute 8'] },
      ];
      const request = { from: 'codex', user_id } as const;
      expect(await memory.importTexts(toStream(texts), request)).toMatchObject({
        imported_count: 1,
        unchanged_count: 1,
      });
      expect(await memory.importTexts(toStream(texts), request)).toMatchObject({
        imported_count: 0,
        unchanged_count: 2,
      });
      expect(await getTexts(user_id)).toEqual(['by a hook', 'text minute 9']);
    });

    it('a text has the time of its file unless it names a time, and only a changed text takes a new time of the file', async () => {
      const user_id = nextUser();
      const importAt = (assumed_created_at: string, content = 'text a') => {
        const texts = [
          { ...toText('a'), content, assumed_created_at },
          { ...toText('b'), created_at: '2025-02-03T00:00:00.000Z', assumed_created_at },
        ];
        return memory.importTexts(toStream(texts), { from: 'markdown', user_id });
      };
      const getTimes = async () => (await memory.memories({ user_id })).memories.map((each) => each.created_at);
      const [january, june] = ['2026-01-01T00:00:00.000Z', '2026-06-01T00:00:00.000Z'];
      await importAt(january);
      expect(await getTimes()).toEqual([january, '2025-02-03T00:00:00.000Z']);
      expect(await importAt(june)).toMatchObject({ updated_count: 0, unchanged_count: 2 });
      expect(await getTimes()).toEqual([january, '2025-02-03T00:00:00.000Z']);
      expect(await importAt(june, 'text c')).toMatchObject({ updated_count: 1, unchanged_count: 1 });
      expect(await getTimes()).toEqual([june, '2025-02-03T00:00:00.000Z']);
    });

    it('a repeat clears the fields that the source has removed, and keeps the time of the memory', async () => {
      const user_id = nextUser();
      const request = { from: 'mem0', user_id } as const;
      const full: ImportedText = {
        ...{ ...toText('a'), created_at: '2024-05-01T10:00:00Z', tags: ['travel'], metadata: { title: 'Rain' } },
        ...{ expires_at: '2030-01-01T00:00:00Z', valid_from: '2024-04-01T00:00:00Z', valid_to: '2029-01-01T00:00:00Z' },
      };
      await memory.importTexts(toStream([full]), request);
      const repeat = await memory.importTexts(toStream([toText('a')]), request);
      expect(repeat).toMatchObject({ updated_count: 1 });
      const { memories } = await memory.session({ session_id: 'default', user_id });
      const changed = await memory.memory(memories[0]?.id as string);
      expect(changed).toMatchObject({ created_at: '2024-05-01T10:00:00.000Z', tags: [], metadata: {} });
      const { expires_at = null, valid_from = null, valid_to = null } = changed;
      expect([expires_at, valid_from, valid_to]).toEqual([null, null, null]);
    });

    it('null as the user and agent of a text means the owner of the import', async () => {
      const user_id = nextUser();
      const texts = [{ ...toText('a'), user_id: null, agent_id: null }];
      const response = await memory.importTexts(toStream(texts), { from: 'csv', user_id, agent_id: 'helper' });
      expect(response).toMatchObject({ imported_count: 1, refused: [] });
      expect(await getTexts(user_id)).toEqual(['text a']);
    });

    it('an import that runs cannot be undone', async () => {
      const user_id = nextUser();
      const texts = async function* () {
        yield toText('a');
        const [running] = await getImports(user_id);
        await expect(memory.undoImport(running?.id as string)).rejects.toMatchObject({ code: 'CONFLICT' });
        await expect(memory.undoImport(running?.id as string, { user_id: 'other' })).rejects.toMatchObject({
          code: 'NOT_FOUND',
        });
        yield toText('b');
      };
      const response = await memory.importTexts(texts(), { from: 'csv', user_id });
      expect(response.imported_count).toBe(2);
      expect(await getTexts(user_id)).toEqual(['text a', 'text b']);
    });

    it('an import and its undo publish their progress to clients that see the owner', async () => {
      const [user_id, other] = [nextUser(), nextUser()];
      const stopping = new AbortController();
      const stream = memory.events({ type: ['import'], user_id }, stopping.signal)[Symbol.asyncIterator]();
      const next = stream.next();
      await memory.importTexts(toStream([toText('a')]), { from: 'csv', user_id: other });
      const request = { from: 'csv', user_id, expected_count: 1 } as const;
      const { import_id } = await memory.importTexts(toStream([toText('a')]), request);
      await memory.undoImport(import_id);
      const events: MemoryEvent[] = [(await next).value];
      while (events.at(-1)?.type === 'import' && (events.at(-1) as { state: string }).state !== 'undone') {
        events.push((await stream.next()).value);
      }
      stopping.abort();
      const states = events.filter((event) => (event as { state: string }).state !== 'progress');
      expect(states).toMatchObject([
        { state: 'started', import_id, user_id, processed_count: 0, expected_count: 1 },
        { state: 'completed', import_id, processed_count: 1, expected_count: 1 },
        { state: 'undone', import_id, processed_count: 1 },
      ]);
    });

    it('an export can be imported and undone as a whole, and a repeat without new memories is no import', async () => {
      const [user_id, copy] = [nextUser(), nextUser()];
      await memory.store({ content: 'one', user_id });
      await memory.store({ content: 'two', user_id });
      const lines: Uint8Array[] = [];
      for await (const line of memory.exportMemories({ user_id })) {
        const text = line.replaceAll(`"${user_id}"`, `"${copy}"`);
        lines.push(Buffer.from(text));
      }
      const { import_id, imported_count } = await memory.importMemories(toStream(lines), { user_id: copy });
      expect(imported_count).toBe(2);
      const repeat = await memory.importMemories(toStream(lines), { user_id: copy });
      expect(repeat).toMatchObject({ imported_count: 0, unchanged_count: 2 });
      expect(repeat).not.toHaveProperty('import_id');
      expect(await getImports(copy)).toMatchObject([{ id: import_id, from: 'memoryd', memory_count: 2 }]);
      expect(await memory.undoImport(import_id as string)).toMatchObject({ forgotten_count: 2 });
      expect(await getTexts(copy)).toEqual([]);
      expect(await getTexts(user_id)).toEqual(['one', 'two']);
    });
  });

  it('imports, edits, merges and undos in any order store nothing twice, and keep what others stored or changed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(deed, { minLength: 1, maxLength: 14 }), async (deeds) => {
        const model = new ImportModel(memory, [nextUser(), nextUser()]);
        for (const each of deeds) {
          if (each.do === 'wait') now += each.days * DAY_MS;
          else await model.perform(each);
          await model.check();
        }
        await model.undoAll();
        await model.check();
      }),
      { numRuns: propertyRuns(100) },
    );
  });
}

async function* toStream<Item>(
  items: readonly Item[],
  { failAfter, failure }: { failAfter?: number; failure?: Error } = {},
): AsyncIterable<Item> {
  for (const [place, item] of items.entries()) {
    if (place === failAfter) throw failure;
    yield item;
  }
}

type Deed =
  | { do: 'import'; user: number; file: [id: number, text: number][]; key: number | null; failAfter: number | null }
  | { do: 'store'; user: number; text: number; id: number | null }
  | { do: 'edit'; user: number; which: number; how: 'text' | 'tags' }
  | { do: 'forget'; user: number; which: number }
  | { do: 'undo'; user: number; which: number }
  | { do: 'consolidate' }
  | { do: 'wait'; days: number };

const user = fc.nat(1);
/** Few texts, so that many memories are duplicates. */
const text = fc.nat(3);
const deed: fc.Arbitrary<Deed> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('import' as const),
      user,
      file: fc.array(fc.tuple(fc.nat(7), text), { maxLength: 8 }),
      key: fc.option(fc.nat(1)),
      failAfter: fc.option(fc.nat(8)),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('store' as const), user, text, id: fc.option(fc.nat(7)) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('edit' as const),
      ...{ user, which: fc.nat(20), how: fc.constantFrom('text' as const, 'tags' as const) },
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('forget' as const), user, which: fc.nat(20) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('undo' as const), user, which: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.constant({ do: 'consolidate' as const }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), days: fc.constantFrom(2, -1) }) },
);

/**
 * A memory of the model. `imported`: the import that it belongs to; absent if no import stored it. `changedBy`: another
 * import that changed it last. `isChanged`: whether a person has changed it since.
 */
interface Held {
  id?: string;
  externalId: string | undefined;
  content: string;
  imported?: { importId: string; changedBy?: string | undefined; text: string; isChanged: boolean };
}

/** The memories that a user must have, computed without the code under test. */
class ImportModel {
  readonly #memory: MemoryApi;
  readonly #users: readonly string[];
  readonly #held = new Map<string, Held[]>();
  readonly #imports = new Map<string, string[]>();
  readonly #keys = new Map<string, string>();
  #edits = 0;

  constructor(memory: MemoryApi, users: readonly string[]) {
    this.#memory = memory;
    this.#users = users;
    for (const user of users) {
      this.#held.set(user, []);
      this.#imports.set(user, []);
    }
  }

  async perform(deed: Exclude<Deed, { do: 'wait' }>): Promise<void> {
    if (deed.do === 'consolidate') {
      await this.#memory.consolidate();
      return;
    }
    const user = this.#users[deed.user] as string;
    switch (deed.do) {
      case 'import':
        return this.#import(user, deed);
      case 'store':
        return this.#store(user, deed);
      case 'edit':
        return this.#edit(user, deed);
      case 'forget':
        return this.#forget(user, deed);
      case 'undo':
        return this.#undo(user, deed.which);
    }
  }

  /** Compares the transcript of each user, which includes merged duplicates, with the model. Notes the ids. */
  async check(): Promise<void> {
    for (const [user_id, held] of this.#held) {
      const { memories } = await this.#memory.session({ session_id: 'default', user_id, limit: 1000 });
      const toLines = (all: readonly { external_id?: string; content: string }[]) =>
        all.map(({ external_id = '', content }) => `${external_id}: ${content}`).sort();
      const expected = held.map(({ externalId, content }) => ({
        ...(externalId !== undefined && { external_id: externalId }),
        content,
      }));
      expect(toLines(memories)).toEqual(toLines(expected));
      for (const each of held) {
        if (each.externalId !== undefined) {
          each.id = memories.find(({ external_id }) => external_id === each.externalId)?.id as string;
        }
      }
      const { imports } = await this.#memory.imports({ user_id });
      expect(imports.map(({ id }) => id).sort()).toEqual([...(this.#imports.get(user_id) as string[])].sort());
      for (const { id, memory_count } of imports) {
        expect(memory_count).toBe(held.filter(({ imported }) => imported?.importId === id).length);
      }
    }
  }

  async undoAll(): Promise<void> {
    for (const user of this.#users) {
      while ((this.#imports.get(user) as string[]).length > 0) await this.#undo(user, 0);
    }
    const left = [...this.#held.values()].flat();
    expect(left.filter(({ imported }) => imported)).toEqual([]);
  }

  async #import(user: string, { file, key, failAfter }: Extract<Deed, { do: 'import' }>): Promise<void> {
    const texts = file.map(([id, text]) => ({ external_id: `e${id}`, content: `Text ${text}.` }));
    const fails = failAfter !== null && failAfter < texts.length;
    const request = { from: 'csv', user_id: user, ...(key !== null && { content_key: `${key}` }) } as const;
    const stream = toStream(texts, fails ? { failAfter, failure: new Error('cut') } : {});
    const importing = this.#memory.importTexts(stream, request);
    if (fails) await expect(importing).rejects.toThrow();
    else await importing;
    const importId = await this.#findImport(user, key);
    for (const { external_id, content } of texts.slice(0, fails ? failAfter : undefined)) {
      this.#takeText(user, external_id, content, importId);
    }
  }

  async #findImport(user: string, key: number | null): Promise<string> {
    const known = key === null ? undefined : this.#keys.get(`${user} ${key}`);
    if (known !== undefined) return known;
    const [newest] = (await this.#memory.imports({ user_id: user, limit: 1 })).imports;
    const id = newest?.id as string;
    (this.#imports.get(user) as string[]).push(id);
    if (key !== null) this.#keys.set(`${user} ${key}`, id);
    return id;
  }

  #takeText(user: string, externalId: string, content: string, importId: string): void {
    const held = this.#held.get(user) as Held[];
    const known = held.find((each) => each.externalId === externalId);
    if (!known) held.push({ externalId, content, imported: { importId, text: content, isChanged: false } });
    else if (known.imported && !known.imported.isChanged && known.imported.text !== content) {
      const own = known.imported.importId;
      const changedBy = importId === own ? undefined : importId;
      Object.assign(known, { content, imported: { importId: own, changedBy, text: content, isChanged: false } });
    }
  }

  async #store(user: string, { text, id }: Extract<Deed, { do: 'store' }>): Promise<void> {
    const content = `Text ${text}.`;
    const externalId = id === null ? undefined : `e${id}`;
    const stored = await this.#memory.store({
      ...{ content, user_id: user },
      ...(externalId !== undefined && { external_id: externalId }),
    });
    const held = this.#held.get(user) as Held[];
    const known = held.find((each) => externalId !== undefined && each.externalId === externalId);
    if (!known) held.push({ id: stored.id, externalId, content });
    else if (known.content !== content) this.#change(known, content);
  }

  async #edit(user: string, { which, how }: Extract<Deed, { do: 'edit' }>): Promise<void> {
    const target = this.#choose(user, which);
    if (!target) return;
    const content = how === 'text' ? `Edited ${++this.#edits}.` : target.content;
    await this.#memory.update(target.id as string, how === 'text' ? { content } : { tags: [`edit ${++this.#edits}`] });
    this.#change(target, content);
  }

  #change(target: Held, content: string): void {
    target.content = content;
    if (target.imported) target.imported.isChanged = true;
  }

  async #forget(user: string, { which }: Extract<Deed, { do: 'forget' }>): Promise<void> {
    const target = this.#choose(user, which);
    if (!target) return;
    const { also_forgotten = [] } = await this.#memory.forget(target.id as string);
    const gone = new Set([target.id, ...also_forgotten]);
    const held = this.#held.get(user) as Held[];
    this.#held.set(
      user,
      held.filter(({ id }) => !gone.has(id)),
    );
  }

  #choose(user: string, which: number): Held | undefined {
    const held = this.#held.get(user) as Held[];
    return held[which % Math.max(1, held.length)];
  }

  async #undo(user: string, which: number): Promise<void> {
    const imports = this.#imports.get(user) as string[];
    const [id] = imports.splice(which % Math.max(1, imports.length), 1);
    if (id === undefined) return;
    for (const [key, of] of this.#keys) if (of === id) this.#keys.delete(key);
    const held = this.#held.get(user) as Held[];
    const own = held.filter(({ imported }) => imported?.importId === id);
    const edited = own.filter(({ imported }) => imported?.isChanged);
    const moved = own.filter(({ imported }) => !imported?.isChanged && imported?.changedBy !== undefined);
    const ofOthers = held.filter(({ imported }) => imported?.changedBy === id);
    const undone = await this.#memory.undoImport(id, { user_id: user });
    const forgotten = own.filter((each) => !edited.includes(each) && !moved.includes(each));
    const kept_count = edited.length + moved.length + ofOthers.length;
    expect(undone).toMatchObject({ forgotten_count: forgotten.length, kept_count });
    for (const each of edited) delete each.imported;
    for (const { imported } of moved) Object.assign(imported as object, { importId: imported?.changedBy });
    for (const { imported } of [...moved, ...ofOthers]) delete imported?.changedBy;
    this.#held.set(
      user,
      held.filter((each) => !forgotten.includes(each)),
    );
  }
}
