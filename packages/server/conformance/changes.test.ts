import type { Memory, UndoChangeResponse, UpdateManyResponse } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import { expectError, expectRefused } from './refusal.ts';
import { useServer, WORDS_ONLY } from './under-test.ts';

const memoryd = useServer({ env: WORDS_ONLY });

const change = (query: string, json: object) =>
  memoryd.ok<UpdateManyResponse>({ method: 'PATCH', path: `/memories?${query}`, json });
const read = (ids: readonly string[]) => Promise.all(ids.map((id) => memoryd.get<Memory>(`/memories/${id}`)));
const FOREIGN = { origin: 'https://evil.example', 'content-type': 'application/json' };

describe('PATCH /memories', () => {
  it('changes the memories of the query and the ids of the body, and its undo restores them', async () => {
    const ids = await memoryd.storeAll(
      ['first', 'second', 'third'].map((content) => ({ content, tags: ['oslo'], user_id: 'mara', importance: 0.3 })),
    );
    const [one = '', two = '', three = ''] = ids;
    const changed = await change('user_id=mara&tag=oslo', {
      ids: [one, two],
      add_tags: ['trip'],
      metadata: { year: 2024 },
    });
    expect(changed).toMatchObject({ status: 'updated', updated_count: 2, unchanged_count: 0, refused_count: 0 });
    expect((await read([one, three])).map(({ tags, metadata }) => [tags, metadata])).toEqual([
      [['oslo', 'trip'], { year: 2024 }],
      [['oslo'], {}],
    ]);
    const path = `/changes/${changed.change_id}/undo?user_id=mara`;
    const undone = await memoryd.ok<UndoChangeResponse>({ method: 'POST', path });
    expect(undone).toEqual({ status: 'undone', id: changed.change_id, restored_count: 2, kept_count: 0 });
    expect((await read(ids)).map(({ tags, metadata }) => [tags, metadata])).toEqual(ids.map(() => [['oslo'], {}]));
    const audited = memoryd.server.records().filter(({ component }) => component === 'audit');
    expect(audited).toMatchObject([
      { event: 'memories_changed', change_id: changed.change_id, filters: 'ids tag user_id', count: 2 },
      { event: 'change_undone', change_id: changed.change_id, count: 2 },
    ]);
  });

  it.each([
    ['no condition', '', { importance: 1 }],
    ['no change', 'tag=refused', {}],
    ['an unknown field of the body', 'tag=refused', { content: 'all the same' }],
    ['shared memories', 'tag=refused&shared=true', { importance: 1 }],
  ])('returns 400 for %s, and changes nothing', async (_, query, json) => {
    const id = await memoryd.store({ content: 'stays as it is', tags: ['refused'] });
    await expectRefused(memoryd, { method: 'PATCH', path: `/memories?${query}`, json });
    expect(await read([id])).toMatchObject([{ version: 1, importance: 0.5 }]);
  });

  it('returns 409 for a change_id of another change', async () => {
    const id = await memoryd.store({ content: 'named once', tags: ['once'] });
    const change_id = 'a-change-of-many-1';
    await change('tag=once', { change_id, importance: 0.1 });
    const request = { method: 'PATCH', path: '/memories?tag=once', json: { change_id, importance: 0.2 } };
    await expectRefused(memoryd, request, { code: 'CONFLICT' });
    expect(await read([id])).toMatchObject([{ importance: 0.1, version: 2 }]);
  });

  it('refuses changes and undos of foreign web pages', async () => {
    const id = await memoryd.store({ content: 'of this page only', tags: ['page'] });
    const { change_id } = await change('tag=page', { importance: 0.1 });
    const json = { importance: 0.2 };
    expectError(await memoryd.send({ method: 'PATCH', path: '/memories?tag=page', json, headers: FOREIGN }), {
      code: 'FORBIDDEN',
    });
    const undo = { method: 'POST', path: `/changes/${change_id}/undo`, headers: { origin: FOREIGN.origin } };
    expectError(await memoryd.send(undo), { code: 'FORBIDDEN' });
    expect(await read([id])).toMatchObject([{ importance: 0.1 }]);
  });
});

describe('POST /changes/{id}/undo', () => {
  it('returns 404 for an unknown change, and for one of another user', async () => {
    const id = await memoryd.store({ content: 'of ada', user_id: 'ada', tags: ['of ada'] });
    const { change_id } = await change('user_id=ada&tag=of+ada', { importance: 0.9 });
    for (const path of ['/changes/unknown/undo', `/changes/${change_id}/undo?user_id=ben`]) {
      await expectRefused(memoryd, { method: 'POST', path }, { code: 'NOT_FOUND' });
    }
    expect(await read([id])).toMatchObject([{ importance: 0.9 }]);
  });
});

describe('DELETE /memories?id=', () => {
  it('forgets the memories with these ids that meet all other conditions', async () => {
    const [one = '', two = '', three = ''] = await memoryd.storeAll([
      { content: 'named and tagged', tags: ['named'] },
      { content: 'named only' },
      { content: 'tagged only', tags: ['named'] },
    ]);
    const path = `/memories?id=${one}&id=${two}&id=unknown&tag=named`;
    expect(await memoryd.ok({ method: 'DELETE', path })).toMatchObject({ forgotten_count: 1 });
    expect(await Promise.all([one, two, three].map((id) => memoryd.getStatus(id)))).toEqual([404, 200, 200]);
    await memoryd.ok({ method: 'DELETE', path: `/memories?id=${two}` });
    expect(await Promise.all([two, three].map((id) => memoryd.getStatus(id)))).toEqual([404, 200]);
  });

  it('forgets nothing of another user', async () => {
    const id = await memoryd.store({ content: 'kept by ben', user_id: 'ben' });
    const path = `/memories?id=${id}&user_id=ada`;
    expect(await memoryd.ok({ method: 'DELETE', path })).toMatchObject({ forgotten_count: 0 });
    expect(await memoryd.getStatus(id)).toBe(200);
  });
});

describe('POST /consolidations/{id}/undo?memory_id=', () => {
  it('unmerges one duplicate, and leaves the rest of the run', async () => {
    const [survivor = '', one = '', two = ''] = await memoryd.storeAll(
      Array.from({ length: 3 }, () => ({ content: 'the unmerged petrel', session_id: 'petrels' })),
    );
    const run = await memoryd.consolidate();
    expect(await read([one, two])).toMatchObject([{ merged_into: survivor }, { merged_into: survivor }]);
    const path = `/consolidations/${run.id}/undo?memory_id=${one}`;
    expect(await memoryd.ok({ method: 'POST', path })).toEqual({ status: 'undone', id: run.id });
    expect(await read([one, two])).toMatchObject([{ merged_into: null }, { merged_into: survivor }]);
    await expectRefused(memoryd, { method: 'POST', path }, { code: 'NOT_FOUND' });
    await expectRefused(memoryd, { method: 'POST', path: `${path}&with_later=true` }, { field: 'with_later' });
    expect((await memoryd.consolidation(run.id as string)).status).toBe('completed');
    expect((await memoryd.undo(run.id as string)).status).toBe(200);
    expect(await read([one, two])).toMatchObject([{ merged_into: null }, { merged_into: null }]);
  });
});
