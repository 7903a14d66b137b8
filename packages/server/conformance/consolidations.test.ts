import type { ErrorResponse, StoreBatchResponse } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import { expectError, expectRefused } from './refusal.ts';
import { type Client, expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';

const memoryd = useServer({ env: WORDS_ONLY });

/** Consolidates and returns the id of the run. */
async function runConsolidation(client: Client = memoryd): Promise<string> {
  const { id } = await client.consolidate();
  expect(id).toMatch(/\S/);
  return id ?? '';
}

const PAST = '2020-01-01T00:00:00Z';

describe('POST /consolidate with dry_run', () => {
  it('returns the plan of the next run and changes nothing', async () => {
    await memoryd.consolidate();
    const expired = await memoryd.store({ content: 'gone', session_id: 'plan', expires_at: PAST });
    const [survivor = '', duplicate = '', other = ''] = await memoryd.storeInOrder(
      ['planned', ' planned', 'another'].map((content) => ({ content, session_id: 'plan' })),
    );
    // The size is left out: the database also grows by background writes, such as a server's statistics.
    const getState = async () => [{ ...(await memoryd.stats()), db_size_mb: 0 }, await memoryd.consolidations()];
    const before = await getState();
    const plan = await memoryd.consolidate('dry_run=true');
    expect(plan).toEqual({
      status: 'planned',
      consolidated_count: 4,
      evicted_count: 2,
      plan: {
        promote: { total: 4, memories: [expired, survivor, duplicate, other].map((id) => ({ id })) },
        merge: { total: 1, memories: [{ id: duplicate, merged_into: survivor }] },
        distil: { total: 0, memories: [] },
        evict: { total: 1, memories: [{ id: expired, reason: 'expired' }] },
      },
    });
    expect(await getState()).toEqual(before);
    expect(await memoryd.consolidate('dry_run=false')).toMatchObject({
      status: 'consolidated',
      consolidated_count: plan.consolidated_count,
      evicted_count: plan.evicted_count,
    });
  });

  it('applies min_age_seconds to the plan', async () => {
    await memoryd.consolidate();
    await memoryd.store({ content: 'young' });
    expect((await memoryd.consolidate('dry_run=true&min_age_seconds=60')).plan?.promote.total).toBe(0);
    expect((await memoryd.consolidate('dry_run=true')).plan?.promote.total).toBe(1);
  });

  it('lists at most 1,000 memories per action, but returns the number of all memories', async () => {
    await memoryd.consolidate();
    await memoryd.ok<StoreBatchResponse>({
      method: 'POST',
      path: '/store/batch',
      json: Array.from({ length: 1100 }, (_, n) => ({ content: `many ${n}` })),
    });
    const { plan } = await memoryd.consolidate('dry_run=true');
    expect([plan?.promote.total, plan?.promote.memories.length]).toEqual([1100, 1000]);
  });

  it.each(['yes', '1'])('rejects the value "%s" of dry_run', async (value) => {
    await expectRefused(memoryd, { method: 'POST', path: `/consolidate?dry_run=${value}` }, { field: 'dry_run' });
  });
});

describe('GET /consolidations', () => {
  it('lists runs newest first, with their times and counts', async () => {
    const first = await runConsolidation();
    await memoryd.storeAll([{ content: 'listed' }, { content: 'listed' }]);
    const second = await runConsolidation();
    const { consolidations, total } = await memoryd.consolidations();
    expect(consolidations.slice(0, 2).map(({ id }) => id)).toEqual([second, first]);
    expect(consolidations[0]).toEqual({
      id: second,
      status: 'completed',
      started_at: expect.stringMatching(/Z$/),
      ended_at: (await memoryd.stats()).last_sleep_at,
      consolidated_count: 2,
      evicted_count: 1,
      notes: {},
    });
    expect(total).toBe(consolidations.length);
  });

  it('returns runs page by page', async () => {
    for (let i = 0; i < 3; i++) await runConsolidation();
    const all = (await memoryd.consolidations()).consolidations;
    const pages = [];
    let cursor: string | undefined = '';
    while (cursor !== undefined) {
      const page = await memoryd.consolidations(`limit=2${cursor && `&cursor=${cursor}`}`);
      expect(page.total).toBe(all.length);
      pages.push(...page.consolidations);
      cursor = page.next_cursor;
    }
    expect(pages).toEqual(all);
  });

  it.each([
    ['limit', '0'],
    ['limit', '10001'],
    ['limit', 'x'],
    ['cursor', 'never given out'],
    ['cursor', '-1.5'],
    ['colour', 'red'],
  ])('rejects %s=%s, as does GET /consolidations/{id}', async (field, value) => {
    for (const path of ['/consolidations', `/consolidations/${await runConsolidation()}`]) {
      await expectRefused(memoryd, { path: `${path}?${field}=${encodeURIComponent(value)}` }, { field });
    }
  });
});

describe('GET /consolidations/{id}', () => {
  it('returns the changes of a run, page by page', async () => {
    await runConsolidation();
    const [survivor = '', duplicate = ''] = await memoryd.storeInOrder([
      { content: 'merged', session_id: 'changes', tags: ['a'] },
      { content: 'merged', session_id: 'changes', tags: ['b'], importance: 1 },
    ]);
    const id = await runConsolidation();
    const changes = [
      { kind: 'promoted', memory_id: survivor },
      { kind: 'promoted', memory_id: duplicate },
      { kind: 'gained', memory_id: survivor, before: { tags: ['a'], importance: 0.5 } },
      { kind: 'merged', memory_id: duplicate, merged_into: survivor },
    ];
    expect(await memoryd.consolidation(id)).toMatchObject({ id, status: 'completed', changes, total: 4 });
    const page = await memoryd.consolidation(id, 'limit=3');
    expect(page.changes).toEqual(changes.slice(0, 3));
    const rest = await memoryd.consolidation(id, `limit=3&cursor=${page.next_cursor}`);
    expect([rest.changes, rest.next_cursor]).toEqual([changes.slice(3), undefined]);
  });

  it('omits changes to memories that have since been forgotten', async () => {
    const id = await memoryd.store({ content: 'promoted and forgotten' });
    const run = await runConsolidation();
    await memoryd.forget(id);
    expect(await memoryd.consolidation(run)).toMatchObject({ consolidated_count: 1, changes: [], total: 0 });
  });

  it.each(['none', 'x'.repeat(5000), '%F0%9F%A6%8A', '0190f000-0000-7000-8000-000000000000'])(
    'returns 404 for an unknown id (%#), as does POST /consolidations/{id}/undo',
    async (id) => {
      await expectRefused(memoryd, { path: `/consolidations/${id}` }, { code: 'NOT_FOUND' });
      const undo = { method: 'POST', path: `/consolidations/${id}/undo` };
      await expectRefused(memoryd, undo, { code: 'NOT_FOUND' });
    },
  );
});

describe('POST /consolidations/{id}/undo', () => {
  it('restores memories to their state before the run', async () => {
    const ids = await memoryd.storeInOrder(
      [
        { content: 'the undone oriole', tags: ['a'], importance: 0.2 },
        { content: 'the undone oriole ', tags: ['b'], importance: 0.8 },
        { content: 'an undone wren', tags: [] },
      ].map((memory) => ({ ...memory, session_id: 'undone' })),
    );
    const read = () => Promise.all(ids.map((id) => memoryd.memory(id)));
    const before = await read();
    const run = await runConsolidation();
    expect((await memoryd.recalled('oriole')).length).toBe(1);
    const answer = await memoryd.undo(run);
    expect([answer.status, answer.body]).toEqual([200, { status: 'undone', id: run }]);
    expect(await read()).toEqual(before);
    expect((await memoryd.recalled('oriole')).sort()).toEqual(ids.slice(0, 2).sort());
    expect((await memoryd.consolidation(run)).status).toBe('undone');
    expectError(await memoryd.undo(run), { code: 'CONFLICT' });
    await memoryd.consolidate();
  });

  it('returns 409 with the id of a newer run that has not been undone', async () => {
    await memoryd.store({ content: 'older run' });
    const older = await runConsolidation();
    await memoryd.store({ content: 'newer run' });
    const newer = await runConsolidation();
    const refused = await memoryd.undo(older);
    expectError(refused, { code: 'CONFLICT' });
    const { message } = (refused.body as ErrorResponse).error;
    expect(message).toContain(newer);
    expect(message).toContain('with_later');
    await expectRefused(
      memoryd,
      { method: 'POST', path: `/consolidations/${older}/undo?with_later=false` },
      { code: 'CONFLICT' },
    );
    expect((await memoryd.consolidation(newer)).status).toBe('completed');
    expect((await memoryd.undo(newer)).status).toBe(200);
    expect((await memoryd.undo(older)).status).toBe(200);
  });

  it('undoes later runs too with with_later=true, and leaves a memory forgotten that one of them changed', async () => {
    const older = await runConsolidation();
    const kept = await memoryd.store({ content: 'promoted by the first run' });
    const first = await runConsolidation();
    const forgotten = await memoryd.store({ content: 'promoted by the later run, then forgotten' });
    const merged = await memoryd.storeInOrder([{ content: 'merged later' }, { content: 'merged later' }]);
    const later = await runConsolidation();
    await memoryd.forget(forgotten);
    const { body } = await memoryd.send({ method: 'POST', path: `/consolidations/${first}/undo?with_later=true` });
    expect(body).toEqual({ status: 'undone', id: first, also_undone: [later] });
    for (const id of [kept, ...merged])
      expect(await memoryd.memory(id)).toMatchObject({ tier: 'working', merged_into: null });
    expect(await memoryd.getStatus(forgotten)).toBe(404);
    expect((await memoryd.consolidation(older)).status).toBe('completed');
  });

  it('restores hidden duplicates, and keeps the texts that clients have written since the run', async () => {
    const [visible = '', hidden = ''] = await memoryd.storeInOrder(
      [0, 1].map(() => ({ content: 'the undone alarm code 7788', session_id: 'written since' })),
    );
    const run = await runConsolidation();
    await memoryd.update(visible, { content: 'the undone alarm code 1234' });
    expect((await memoryd.undo(run)).status).toBe(200);
    expect(await memoryd.memory(visible)).toMatchObject({ content: 'the undone alarm code 1234' });
    expect(await memoryd.memory(hidden)).toMatchObject({ content: 'the undone alarm code 7788', merged_into: null });
    expect((await memoryd.recalled('7788')).slice(0, 1)).toEqual([hidden]);
  });

  it('rejects a body, unknown query parameters and invalid values', async () => {
    const path = `/consolidations/${await runConsolidation()}/undo`;
    await expectRefused(memoryd, { method: 'POST', path, json: { id: 'x' } });
    await expectRefused(memoryd, { method: 'POST', path: `${path}?force=true` }, { field: 'force' });
    await expectRefused(memoryd, { method: 'POST', path: `${path}?with_later=yes` }, { field: 'with_later' });
  });
});

describe('the archive', () => {
  it('stays empty if SERVICE_ARCHIVE_DAYS is 0, so that runs cannot be undone', async () => {
    const client = await startClient({ env: { ...WORDS_ONLY, SERVICE_ARCHIVE_DAYS: '0' } });
    const id = await client.store({ content: 'archived for no time at all', expires_at: PAST });
    const run = await runConsolidation(client);
    expectError(await client.undo(run), { code: 'CONFLICT' });
    await client.consolidate();
    const answer = await client.send({ method: 'DELETE', path: `/forget/${id}` });
    expectError(answer, { code: 'NOT_FOUND' });
    await expectCleanEnd(client.server);
  });
});
