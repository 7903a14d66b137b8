import { isDeepStrictEqual } from 'node:util';
import {
  LIMITS,
  type Memory,
  type MemoryApi,
  type MemoryChanges,
  type MemoryEvent,
  type MemorySelection,
  withScope,
} from '@memoryd/contract';
import { propertyRuns } from '@memoryd/search/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { MemoryApiUnderTest } from './memory-api.contract.ts';

const HOUR_MS = 60 * 60 * 1000;
const START = Date.UTC(2026, 0, 1);

/** A clock that tests move. */
interface MovedClock {
  now(): number;
}

/**
 * Contract tests of the changes of many memories of a `MemoryApi`, and of their undo. `open` is called once for all
 * tests. The API under test must not consolidate by itself.
 */
export function changesContract(open: (clock: MovedClock) => Promise<MemoryApiUnderTest>): void {
  let opened: MemoryApiUnderTest;
  let memory: MemoryApi;
  let now = START;
  let users = 0;
  let changes = 0;
  beforeAll(async () => {
    opened = await open({ now: () => now++ });
    memory = opened.memory;
  });
  afterAll(() => opened.close());

  /** Returns a user that no other test uses. */
  const nextUser = () => `user-${++users}`;
  const nextChange = () => `change-of-many-${++changes}`;
  const store = async (user_id: string, count: number, fields: object = {}) => {
    const requests = Array.from({ length: count }, (_, i) => ({
      content: `note ${i} of ${user_id}`,
      user_id,
      ...fields,
    }));
    const { results } = await memory.storeBatch(requests);
    return results.map((result) => (result as { id: string }).id);
  };
  const read = async (ids: readonly string[]) => {
    const memories: Memory[] = [];
    // The retention falls with time.
    for (const id of ids) memories.push({ ...(await memory.memory(id)), retention: 0 });
    return memories;
  };
  const getLabels = async (ids: readonly string[]) =>
    (await read(ids)).map(({ tags, importance, metadata }) => ({ tags, importance, metadata }));

  describe('a change of many memories', () => {
    it('changes the tags, importance and metadata of all memories that meet every condition', async () => {
      const user_id = nextUser();
      const ids = await store(user_id, 120, { tags: ['trip', 'old'], metadata: { place: 'Oslo', year: 2024 } });
      const others = [...(await store(user_id, 2)), ...(await store(nextUser(), 2, { tags: ['trip'] }))];
      const before = await read(others);
      const change = {
        add_tags: ['norway', 'trip'],
        remove_tags: ['old'],
        importance: 0.9,
        metadata: { place: null, kind: 'x' },
      };
      expect(await memory.updateMany({ user_id, tag: ['trip'] }, change)).toEqual({
        status: 'updated',
        change_id: expect.any(String),
        updated_count: 120,
        unchanged_count: 0,
        refused_count: 0,
      });
      const labels = { tags: ['trip', 'norway'], importance: 0.9, metadata: { year: 2024, kind: 'x' } };
      expect(await getLabels(ids)).toEqual(ids.map(() => labels));
      expect(await read(others)).toEqual(before);
      expect(await memory.memories({ user_id, tag: ['norway'] })).toMatchObject({ total: 120 });
      expect(await memory.memories({ user_id, tag: ['old'] })).toMatchObject({ total: 0 });
      expect(await memory.memories({ user_id, metadata: { kind: 'x' } })).toMatchObject({ total: 120 });
      expect(await memory.memories({ user_id, metadata: { place: 'Oslo' } })).toMatchObject({ total: 0 });
    });

    it('changes the memories that a list with the same conditions returns, and no others', async () => {
      const user_id = nextUser();
      const kind = `kind of ${user_id}`;
      const fields = { content: 'a grey heron', tags: [kind], metadata: { kind, n: 10 }, session_id: kind };
      await store(user_id, 2, fields);
      await store(user_id, 2, { content: 'a white heron', tags: ['other'], metadata: { kind: 'other', n: '10' } });
      await store(nextUser(), 2, fields);
      const selections: MemorySelection[] = [
        ...[{ q: 'HERON grey' }, { q: 'her' }, { user_id, q: 'heron' }, { user_id, q: 'heron', tag: [kind] }],
        ...[{ tag: [kind] }, { user_id, tag: [kind] }, { metadata: { kind } }, { session_id: kind }],
        ...[{ user_id, filter: { 'metadata.n': 10 } }, { filter: { tag: { $in: [kind, 'unknown'] } } }],
      ];
      for (const [i, selection] of selections.entries()) {
        const { memories, total } = await memory.memories(selection);
        expect(total).toBeGreaterThan(0);
        const tag = `change ${i} of ${user_id}`;
        expect(await memory.updateMany(selection, { add_tags: [tag] })).toMatchObject({ updated_count: total });
        const changed = await memory.memories({ tag: [tag] });
        expect(changed.memories.map(({ id }) => id)).toEqual(memories.map(({ id }) => id));
      }
    });

    it('combines ids with the other conditions, and ignores unknown ids', async () => {
      const [user_id, other] = [nextUser(), nextUser()];
      const [one, two] = (await store(user_id, 2, { tags: ['a'] })) as [string, string];
      const [untagged] = (await store(user_id, 1)) as [string];
      const [foreign] = (await store(other, 1, { tags: ['a'] })) as [string];
      const ids = [one, untagged, foreign, 'nobody'];
      const changed = await memory.updateMany({ user_id, ids, tag: ['a'] }, { add_tags: ['b'] });
      expect(changed).toMatchObject({ updated_count: 1, unchanged_count: 0, refused_count: 0 });
      expect((await read([one, two, untagged, foreign])).map(({ tags }) => tags)).toEqual([
        ['a', 'b'],
        ['a'],
        [],
        ['a'],
      ]);
    });

    it('counts memories that have the values already and memories that cannot take them', async () => {
      const user_id = nextUser();
      const [has] = (await store(user_id, 1, { tags: ['new'] })) as [string];
      const full = Array.from({ length: LIMITS.tags }, (_, i) => `tag ${i}`);
      const [tagged] = (await store(user_id, 1, { tags: full })) as [string];
      const [takes] = (await store(user_id, 1)) as [string];
      const before = await read([has, tagged]);
      const counts = { updated_count: 1, unchanged_count: 1, refused_count: 1 };
      expect(await memory.updateMany({ user_id }, { add_tags: ['new'] })).toMatchObject(counts);
      expect(await read([has, tagged])).toEqual(before);
      expect(await memory.memory(takes)).toMatchObject({ tags: ['new'], version: 2 });

      const large = { text: 'x'.repeat(LIMITS.metadataBytes - 20) };
      const [described] = (await store(user_id, 1, { metadata: large, tags: ['large'] })) as [string];
      expect(
        await memory.updateMany({ user_id, tag: ['large'] }, { metadata: { more: 'twenty bytes or more' } }),
      ).toMatchObject({
        updated_count: 0,
        refused_count: 1,
      });
      expect(await memory.memory(described)).toMatchObject({ metadata: large, version: 1 });
    });

    it('a change of many memories is part of the history of each memory, as an update is', async () => {
      const user_id = nextUser();
      const ids = await store(user_id, 3, { tags: ['before'], importance: 0.2 });
      const known_at = new Date(now).toISOString();
      now += 1000;
      const { change_id } = await memory.updateMany({ ids }, { add_tags: ['after'], importance: 0.8 });
      const changed_at = new Date(now).toISOString();
      now += 1000;
      await memory.undoChange(change_id);
      const at = async (known: string) => (await memory.memories({ user_id, known_at: known })).memories;
      const [earlier, later, last] = [await at(known_at), await at(changed_at), await read(ids)];
      expect(earlier.map(({ tags, importance }) => [tags, importance])).toEqual(ids.map(() => [['before'], 0.2]));
      expect(later.map(({ tags, importance }) => [tags, importance])).toEqual(
        ids.map(() => [['before', 'after'], 0.8]),
      );
      expect(last.map(({ tags, importance, version }) => [tags, importance, version])).toEqual(
        ids.map(() => [['before'], 0.2, 3]),
      );
    });

    it('publishes the changed memories, and those that its undo restored', async () => {
      const user_id = nextUser();
      const ids = await store(user_id, 3);
      const controller = new AbortController();
      const events = memory.events({ user_id, type: ['updated'] }, controller.signal)[Symbol.asyncIterator]();
      const first = events.next();
      const { change_id } = await memory.updateMany({ ids, user_id }, { importance: 0.7 });
      const published = { type: 'updated', user_id, memory_ids: ids, count: 3 };
      expect((await first).value as MemoryEvent).toMatchObject(published);
      await memory.undoChange(change_id, { user_id });
      expect((await events.next()).value as MemoryEvent).toMatchObject(published);
      controller.abort();
      await events.return?.();
    });

    it.each<[string, MemorySelection, MemoryChanges, string]>([
      ['a selection without a condition', {}, { add_tags: ['a'] }, 'selection must contain'],
      ['an empty filter', { filter: {} }, { add_tags: ['a'] }, 'selection must contain'],
      ['no change', { tag: ['kept'] }, {}, 'must contain at least one of add_tags'],
      ['an id alone as the change', { tag: ['kept'] }, { change_id: 'x'.repeat(16) }, 'must contain at least one of'],
      [
        'a tag to add and to remove',
        { tag: ['kept'] },
        { add_tags: ['a'], remove_tags: ['a'] },
        'remove_tags must not',
      ],
      [
        'a short change id',
        { tag: ['kept'] },
        { add_tags: ['a'], change_id: 'short' },
        'change_id must be a string of',
      ],
      ['an importance above 1', { tag: ['kept'] }, { importance: 2 }, 'importance must be a number from 0 to 1'],
      [
        'too much metadata',
        { tag: ['kept'] },
        { metadata: { a: 'x'.repeat(LIMITS.metadataBytes) } },
        'metadata must be',
      ],
      [
        'too many ids',
        { ids: Array(LIMITS.changedIds + 1).fill('a') },
        { importance: 1 },
        'ids must be an array of 1 to',
      ],
      ['an unknown field', { tag: ['kept'], shared: true } as object, { importance: 1 }, 'shared is not a known field'],
    ])('a change of many memories is refused for %s, and changes nothing', async (_, selection, change, message) => {
      const [kept] = (await store(nextUser(), 1, { tags: ['kept'] })) as [string];
      const before = await read([kept]);
      await expect(memory.updateMany(selection, change)).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
        message: expect.stringContaining(message),
      });
      expect(await read([kept])).toEqual(before);
    });

    it('a repeated id changes nothing more and returns the same counts', async () => {
      const user_id = nextUser();
      const [id] = (await store(user_id, 1, { tags: ['a'] })) as [string];
      const change = { change_id: nextChange(), remove_tags: ['a'] };
      const first = await memory.updateMany({ user_id, tag: ['a'] }, change);
      await memory.update(id, { tags: ['a'] });
      expect(await memory.updateMany({ user_id, tag: ['a'] }, change)).toEqual(first);
      expect(await memory.memory(id)).toMatchObject({ tags: ['a'], version: 3 });
    });

    it('an id that was used for another change is refused, and changes nothing', async () => {
      const user_id = nextUser();
      const ids = await store(user_id, 2);
      const change_id = nextChange();
      await memory.updateMany({ user_id }, { change_id, importance: 0.1 });
      const before = await read(ids);
      for (const call of [
        () => memory.updateMany({ user_id }, { change_id, importance: 0.2 }),
        () => memory.updateMany({ user_id, tag: ['a'] }, { change_id, importance: 0.1 }),
      ]) {
        await expect(call()).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('change_id') });
      }
      expect(await read(ids)).toEqual(before);
    });

    it('concurrent calls with one id change each memory once', async () => {
      const user_id = nextUser();
      const ids = await store(user_id, 130);
      const change = { change_id: nextChange(), add_tags: ['once'] };
      const calls = await Promise.all([1, 2, 3].map(() => memory.updateMany({ user_id }, change)));
      for (const counts of calls) expect(counts).toMatchObject({ updated_count: 130, unchanged_count: 0 });
      expect((await read(ids)).every(({ version }) => version === 2)).toBe(true);
      expect(await memory.undoChange(change.change_id)).toMatchObject({ restored_count: 130, kept_count: 0 });
    });

    it('a merged duplicate that is named leaves its group only with other metadata', async () => {
      const user_id = nextUser();
      const [survivor] = (await store(user_id, 1)) as [string];
      const [duplicate] = (await store(user_id, 1)) as [string];
      await memory.consolidate();
      expect(await memory.memory(duplicate)).toMatchObject({ merged_into: survivor });
      expect(await memory.updateMany({ user_id }, { add_tags: ['a'] })).toMatchObject({ updated_count: 1 });
      expect(await memory.memory(duplicate)).toMatchObject({ merged_into: survivor, tags: [] });
      expect(await memory.updateMany({ ids: [duplicate] }, { add_tags: ['b'] })).toMatchObject({ updated_count: 1 });
      expect(await memory.memory(duplicate)).toMatchObject({ merged_into: survivor, tags: ['b'] });
      const { change_id } = await memory.updateMany({ ids: [duplicate] }, { metadata: { own: true } });
      expect(await memory.memory(duplicate)).toMatchObject({ merged_into: null });
      expect(await memory.undoChange(change_id)).toMatchObject({ restored_count: 1 });
      expect(await memory.memory(duplicate)).toMatchObject({ metadata: {}, tags: ['b'] });
    });

    it('changes the memory with an external id even if it is a merged duplicate, as a list returns it', async () => {
      const user_id = nextUser();
      await store(user_id, 1);
      const [duplicate] = (await store(user_id, 1, { external_id: 'note' })) as [string];
      await memory.consolidate();
      const selection = { user_id, external_id: 'note' };
      expect(await memory.memories(selection)).toMatchObject({ total: 1 });
      expect(await memory.updateMany(selection, { add_tags: ['a'] })).toMatchObject({ updated_count: 1 });
      expect(await memory.memory(duplicate)).toMatchObject({ merged_into: expect.any(String), tags: ['a'] });
    });
  });

  describe('the undo of a change', () => {
    it('gives the earlier values back, except where somebody has changed these fields since', async () => {
      const user_id = nextUser();
      const [plain, retagged, reworded, gone] = (await store(user_id, 4, { tags: ['a'] })) as [
        string,
        string,
        string,
        string,
      ];
      const { change_id } = await memory.updateMany({ user_id }, { add_tags: ['b'] });
      await memory.update(retagged, { tags: ['mine'] });
      await memory.update(reworded, { content: 'another text', importance: 0.9 });
      await memory.forget(gone);
      expect(await memory.undoChange(change_id)).toEqual({
        status: 'undone',
        id: change_id,
        restored_count: 2,
        kept_count: 2,
      });
      expect(await read([plain, retagged, reworded])).toMatchObject([
        { tags: ['a'] },
        { tags: ['mine'] },
        { tags: ['a'], content: 'another text', importance: 0.9 },
      ]);
      expect(await memory.memories({ user_id, tag: ['b'] })).toMatchObject({ total: 0 });
    });

    it('takes back each tag and each field of metadata that nobody has changed since', async () => {
      const user_id = nextUser();
      const metadata = { place: 'Oslo', year: 2024, guide: null };
      const [id] = (await store(user_id, 1, { tags: ['a', 'old', 'z'], metadata })) as [string];
      const change = {
        ...{ add_tags: ['b', 'c'], remove_tags: ['old', 'z'], importance: 0.9 },
        metadata: { place: 'Bergen', year: null, guide: 'Kari', kind: 'trip' },
      };
      const { change_id } = await memory.updateMany({ user_id }, change);
      await memory.update(id, {
        tags: ['a', 'c', 'mine', 'z'],
        importance: 0.1,
        metadata: { place: 'Bergen', guide: 'Kari', kind: 'mine', more: 1 },
      });
      expect(await memory.undoChange(change_id)).toMatchObject({ restored_count: 1, kept_count: 0 });
      expect(await getLabels([id])).toEqual([
        {
          tags: ['a', 'mine', 'z', 'old'],
          importance: 0.1,
          metadata: { place: 'Oslo', guide: null, kind: 'mine', more: 1, year: 2024 },
        },
      ]);
    });

    it('takes back as much as the limits for tags and metadata allow', async () => {
      const user_id = nextUser();
      const getTags = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `tag ${from + i}`);
      const metadata = { long: 'x'.repeat(5000), n: 1, m: null };
      const [id] = (await store(user_id, 1, { tags: getTags(0, LIMITS.tags), metadata })) as [string];
      const { change_id } = await memory.updateMany(
        { user_id },
        {
          add_tags: ['new'],
          remove_tags: getTags(0, 3),
          metadata: { long: null, n: 2, m: 'x', added: 'y'.repeat(50) },
        },
      );
      const others = ['one', 'two'];
      const added = { n: 2, m: 'x', added: 'y'.repeat(50), other: 'z'.repeat(LIMITS.metadataBytes - 100) };
      await memory.update(id, { tags: [...getTags(3, LIMITS.tags), 'new', ...others], metadata: added });
      expect(await memory.undoChange(change_id)).toMatchObject({ restored_count: 1, kept_count: 0 });
      expect(await getLabels([id])).toEqual([
        {
          tags: [...getTags(3, LIMITS.tags), ...others, 'tag 0'],
          importance: 0.5,
          metadata: { n: 1, m: null, other: added.other },
        },
      ]);
    });

    it('a repeated undo returns the same counts and changes nothing', async () => {
      const user_id = nextUser();
      const ids = await store(user_id, 60);
      const { change_id } = await memory.updateMany({ user_id }, { importance: 0.9 });
      const undone = await memory.undoChange(change_id);
      expect(undone).toMatchObject({ restored_count: 60, kept_count: 0 });
      await memory.update(ids[0] as string, { importance: 0.9 });
      const before = await read(ids);
      expect(await memory.undoChange(change_id)).toEqual(undone);
      expect(await read(ids)).toEqual(before);
    });

    it('a change that was undone is not made again by a late repetition', async () => {
      const user_id = nextUser();
      const ids = await store(user_id, 2);
      const change = { change_id: nextChange(), importance: 0.9 };
      await memory.updateMany({ user_id }, change);
      await memory.undoChange(change.change_id);
      const before = await read(ids);
      await expect(memory.updateMany({ user_id }, change)).rejects.toMatchObject({ code: 'CONFLICT' });
      expect(await read(ids)).toEqual(before);
    });

    it('undoes changes of the same memories in any order, if they left different tags and fields', async () => {
      const user_id = nextUser();
      const ids = await store(user_id, 2, { tags: ['a'] });
      const first = await memory.updateMany({ user_id }, { add_tags: ['b'] });
      const second = await memory.updateMany({ user_id }, { importance: 0.9 });
      const third = await memory.updateMany({ user_id }, { add_tags: ['c'] });
      expect(await memory.undoChange(first.change_id)).toMatchObject({ restored_count: 2, kept_count: 0 });
      expect((await read(ids)).map(({ tags }) => tags)).toEqual(ids.map(() => ['a', 'c']));
      expect(await memory.undoChange(third.change_id)).toMatchObject({ restored_count: 2, kept_count: 0 });
      expect(await memory.undoChange(second.change_id)).toMatchObject({ restored_count: 2, kept_count: 0 });
      expect(await getLabels(ids)).toEqual(ids.map(() => ({ tags: ['a'], importance: 0.5, metadata: {} })));
    });

    it('a change can be undone for an hour after it', async () => {
      const user_id = nextUser();
      const [id] = (await store(user_id, 1)) as [string];
      const one = await memory.updateMany({ user_id }, { add_tags: ['a'] });
      now += HOUR_MS / 2;
      const two = await memory.updateMany({ user_id }, { importance: 0.9 });
      now += HOUR_MS / 2;
      const before = await read([id]);
      await expect(memory.undoChange(one.change_id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      expect(await read([id])).toEqual(before);
      expect(await memory.undoChange(two.change_id)).toMatchObject({ restored_count: 1 });
      expect(await memory.memory(id)).toMatchObject({ tags: ['a'], importance: 0.5 });
    });

    it('an id can be used again an hour later', async () => {
      const user_id = nextUser();
      const [id] = (await store(user_id, 1)) as [string];
      const change_id = nextChange();
      await memory.updateMany({ user_id }, { change_id, importance: 0.1 });
      now += HOUR_MS + 1000;
      expect(await memory.updateMany({ user_id }, { change_id, importance: 0.2 })).toMatchObject({ updated_count: 1 });
      expect(await memory.undoChange(change_id)).toMatchObject({ restored_count: 1 });
      expect(await memory.memory(id)).toMatchObject({ importance: 0.1 });
    });

    it('changes that can no longer be undone are dropped by consolidation', async () => {
      const user_id = nextUser();
      const [id] = (await store(user_id, 1)) as [string];
      const { change_id } = await memory.updateMany({ user_id }, { importance: 0.1 });
      now += HOUR_MS + 1000;
      await memory.consolidate();
      await memory.consolidate();
      // A clock that is set back shows that the record is gone, and not only too old.
      now -= HOUR_MS;
      await expect(memory.undoChange(change_id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      expect(await memory.memory(id)).toMatchObject({ importance: 0.1 });
      now += HOUR_MS;
    });

    it('changes that can no longer be undone are dropped by a change a day later', async () => {
      const user_id = nextUser();
      const [id] = (await store(user_id, 1)) as [string];
      const { change_id } = await memory.updateMany({ user_id }, { importance: 0.1 });
      now += 25 * HOUR_MS;
      await memory.updateMany({ ids: ['nobody'] }, { importance: 0.2 });
      // A clock that is set back shows that the record is gone, and not only too old.
      now -= 25 * HOUR_MS;
      await expect(memory.undoChange(change_id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      expect(await memory.memory(id)).toMatchObject({ importance: 0.1 });
      now += 25 * HOUR_MS;
    });

    it('a change is not found in another scope, even with the same id, and changes nothing there', async () => {
      const [ann, ben] = [nextUser(), nextUser()];
      const ids = [...(await store(ann, 1)), ...(await store(ben, 1))] as [string, string];
      const [ofAnn, ofBen] = [withScope(memory).scope({ userId: ann }), withScope(memory).scope({ userId: ben })];
      const change = { change_id: nextChange(), importance: 0.9 };
      await ofAnn.updateMany({ ids }, change);
      expect((await read(ids)).map(({ importance }) => importance)).toEqual([0.9, 0.5]);
      await expect(ofBen.undoChange(change.change_id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      // The id of another user is as good as any other.
      expect(await ofBen.updateMany({ ids }, { ...change, importance: 0.1 })).toMatchObject({ updated_count: 1 });
      await expect(memory.undoChange(change.change_id)).rejects.toMatchObject({ code: 'CONFLICT' });
      expect((await read(ids)).map(({ importance }) => importance)).toEqual([0.9, 0.1]);
      expect(await ofBen.undoChange(change.change_id)).toMatchObject({ restored_count: 1 });
      expect(await memory.undoChange(change.change_id, { user_id: ann })).toMatchObject({ restored_count: 1 });
      expect((await read(ids)).map(({ importance }) => importance)).toEqual([0.5, 0.5]);
    });

    it('a change of all users is not found in the scope of one of them', async () => {
      const [ann, ben] = [nextUser(), nextUser()];
      const ids = [...(await store(ann, 1)), ...(await store(ben, 1))];
      const { change_id } = await memory.updateMany({ ids }, { importance: 0.9 });
      await expect(memory.undoChange(change_id, { user_id: ann })).rejects.toMatchObject({ code: 'NOT_FOUND' });
      expect((await read(ids)).map(({ importance }) => importance)).toEqual([0.9, 0.9]);
      expect(await memory.undoChange(change_id)).toMatchObject({ restored_count: 2 });
    });

    it('the changes of a forgotten user are gone', async () => {
      const user_id = nextUser();
      await store(user_id, 2);
      const { change_id } = await memory.updateMany({ user_id }, { add_tags: ['private'] });
      await memory.forgetMany({ user_id });
      await expect(memory.undoChange(change_id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    /** Takes a step with the API and in a model. Returns the response, and what it must have. */
    async function takeStep(
      { user_id, ids, made }: { user_id: string; ids: readonly string[]; made: string[] },
      model: ChangeModel,
      step: Step,
    ): Promise<[response: object, expected: object]> {
      if (step.kind === 'update') {
        model.update(step.place, step.tags);
        return [await memory.update(ids[step.place] as string, { tags: step.tags }), {}];
      }
      if (step.kind === 'undo') {
        const id = made[step.place];
        return id === undefined ? [{}, {}] : [await memory.undoChange(id, { user_id }), model.undo(step.place)];
      }
      const { add, remove, importance, value, tag, among } = step;
      const selection = { user_id, ids: among.map((place) => ids[place] as string) };
      const response = await memory.updateMany(
        { ...selection, ...(tag !== null && { tag: [tag] }) },
        {
          ...{ add_tags: [add], metadata: { [step.name]: value } },
          ...(remove !== null && remove !== add && { remove_tags: [remove] }),
          ...(importance !== null && { importance }),
        },
      );
      made.push(response.change_id);
      return [response, { updated_count: model.change(step) }];
    }

    it('random changes, updates and undos leave what a model says', async () => {
      const tag = fc.constantFrom('a', 'b', 'c');
      const step = fc.oneof(
        fc.record({
          kind: fc.constant('change' as const),
          tag: fc.option(tag),
          among: fc.subarray([0, 1, 2, 3], { minLength: 1 }),
          add: tag,
          remove: fc.option(tag),
          name: fc.constantFrom('k', 'l'),
          importance: fc.option(fc.constantFrom(0.1, 0.9)),
          value: fc.option(fc.constantFrom(1, 2)),
        }),
        fc.record({ kind: fc.constant('update' as const), place: fc.nat(3), tags: fc.uniqueArray(tag) }),
        fc.record({ kind: fc.constant('undo' as const), place: fc.nat(5) }),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
          const user_id = nextUser();
          const ids = await store(user_id, 4);
          const model = new ChangeModel(ids.length);
          const made: string[] = [];
          for (const each of steps) {
            const [counts, expected] = await takeStep({ user_id, ids, made }, model, each);
            expect(counts).toMatchObject(expected);
            expect(await getLabels(ids)).toEqual(model.labels);
          }
        }),
        { numRuns: propertyRuns(50) },
      );
    });
  });
}

/** The fields of a memory that a change of many memories can change. */
interface Labels {
  tags: string[];
  importance: number;
  metadata: Record<string, number>;
}

/** A change of the memories at `among` that have `tag`, if it is not null. `value`: of the metadata field `name`. */
interface ModelChange {
  tag: string | null;
  among: number[];
  add: string;
  remove: string | null;
  importance: number | null;
  name: string;
  value: number | null;
}

/** The earlier and the new values of the memories that a change has changed. */
type Changed = Map<Labels, { before: Labels; after: Labels }>;

type Step =
  | ({ kind: 'change' } & ModelChange)
  | { kind: 'update'; place: number; tags: string[] }
  | { kind: 'undo'; place: number };

/** The labels that a few memories must have after changes of many, updates of their tags, and undos. */
class ChangeModel {
  readonly labels: Labels[];
  readonly #made: Changed[] = [];
  readonly #undone = new Map<number, { restored_count: number; kept_count: number }>();

  constructor(count: number) {
    this.labels = Array.from({ length: count }, () => ({ tags: [], importance: 0.5, metadata: {} }));
  }

  update(place: number, tags: string[]): void {
    (this.labels[place] as Labels).tags = tags;
  }

  /** Returns the number of changed memories. */
  change({ tag, among, add, remove, importance, name, value }: ModelChange): number {
    const changed: Changed = new Map();
    for (const labels of among.map((place) => this.labels[place] as Labels)) {
      if (tag !== null && !labels.tags.includes(tag)) continue;
      const wanted: Labels = {
        tags: [...new Set([...labels.tags.filter((each) => each !== remove || each === add), add])],
        importance: importance ?? labels.importance,
        metadata: withField(labels.metadata, name, value ?? undefined),
      };
      if (isDeepStrictEqual(wanted, labels)) continue;
      changed.set(labels, { before: { ...labels }, after: wanted });
      Object.assign(labels, wanted);
    }
    this.#made.push(changed);
    return changed.size;
  }

  /** Returns the counts of the response. */
  undo(place: number): { restored_count: number; kept_count: number } {
    const known = this.#undone.get(place);
    if (known) return known;
    const changed = [...(this.#made[place] ?? [])];
    let restored = 0;
    for (const [labels, { before, after }] of changed) {
      const wanted = takeBack(labels, before, after);
      if (isDeepStrictEqual(wanted, labels)) continue;
      Object.assign(labels, wanted);
      restored++;
    }
    const counts = { restored_count: restored, kept_count: changed.length - restored };
    this.#undone.set(place, counts);
    return counts;
  }
}

/** Returns the labels without the difference between `before` and `after`, where it is still present. */
function takeBack(labels: Labels, before: Labels, after: Labels): Labels {
  const tags = isDeepStrictEqual(labels.tags, after.tags) ? [...before.tags] : [...labels.tags];
  for (const tag of 'abc') {
    const [had, has, at] = [before.tags.includes(tag), after.tags.includes(tag), tags.indexOf(tag)];
    if (!had && has && at >= 0) tags.splice(at, 1);
  }
  for (const tag of before.tags) if (!after.tags.includes(tag) && !tags.includes(tag)) tags.push(tag);
  let { importance, metadata } = labels;
  if (importance === after.importance) importance = before.importance;
  for (const name of ['k', 'l']) {
    if (metadata[name] === after.metadata[name]) metadata = withField(metadata, name, before.metadata[name]);
  }
  return { tags, importance, metadata };
}

function withField(metadata: Labels['metadata'], name: string, value: number | undefined): Labels['metadata'] {
  const { [name]: _, ...others } = metadata;
  return value === undefined ? others : { ...others, [name]: value };
}
