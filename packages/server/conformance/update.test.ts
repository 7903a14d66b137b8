import type { Memory, UpdateRequest } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import { expectError } from './refusal.ts';
import { useServer, WORDS_ONLY } from './under-test.ts';

const memoryd = useServer({ env: WORDS_ONLY });

describe('PUT /update/{memory_id}', () => {
  const allFields = {
    content: 'the original text',
    tags: ['a', 'b'],
    importance: 0.3,
    source: 'chat',
    session_id: 'updates',
    created_at: '2024-01-01T00:00:00.000Z',
    expires_at: '2999-01-01T00:00:00.000Z',
    metadata: { k: 'v', n: 1 },
  };

  it('returns 200 with only the id and the status "updated"', async () => {
    const id = await memoryd.store(allFields);
    const answer = await memoryd.update(id, { content: 'new', importance: 0.9 });
    expect([answer.status, answer.body]).toEqual([200, { id, status: 'updated' }]);
  });

  const changes: { row: string; change: UpdateRequest; reads: Partial<Memory> }[] = [
    { row: 'content', change: { content: ' new\ntext ' }, reads: { content: ' new\ntext ' } },
    { row: 'importance', change: { importance: 1 }, reads: { importance: 1 } },
    { row: 'importance to 0', change: { importance: 0 }, reads: { importance: 0 } },
    { row: 'tags', change: { tags: ['z', 'a', 'z'] }, reads: { tags: ['z', 'a'] } },
    { row: 'tags to an empty list', change: { tags: [] }, reads: { tags: [] } },
    { row: 'metadata as a whole', change: { metadata: { other: true } }, reads: { metadata: { other: true } } },
    {
      row: 'expires_at',
      change: { expires_at: '2888-01-01T00:00:00+01:00' },
      reads: { expires_at: '2887-12-31T23:00:00.000Z' },
    },
    { row: 'expires_at to null', change: { expires_at: null }, reads: { expires_at: null } },
    {
      row: 'several fields at once',
      change: { content: 'c', importance: 0.5, tags: ['t'], metadata: {}, expires_at: null },
      reads: { content: 'c', importance: 0.5, tags: ['t'], metadata: {}, expires_at: null },
    },
  ];
  it.each(changes)('changes $row and no other field', async ({ change, reads }) => {
    const id = await memoryd.store(allFields);
    const before = await memoryd.memory(id);
    expect((await memoryd.update(id, change)).status).toBe(200);
    const { updated_at, retention: _, ...after } = await memoryd.memory(id);
    const { updated_at: storedAt, retention: __, ...rest } = before;
    expect(after).toEqual({ ...rest, ...reads, version: before.version + 1 });
    expect(Date.parse(updated_at)).toBeGreaterThanOrEqual(Date.parse(storedAt));
  });

  it('makes the memory recallable by its new words, and no longer by its old words', async () => {
    const id = await memoryd.store({ content: 'the caravel sails at dawn' });
    await memoryd.update(id, { content: 'the zeppelin flies at dusk' });
    expect(await memoryd.recalled('zeppelin')).toEqual([id]);
    expect(await memoryd.recalled('caravel')).toEqual([]);
  });

  it('makes the memory recallable by its new tags', async () => {
    const id = await memoryd.store({ content: 'a marimba lesson', tags: ['music'] });
    await memoryd.update(id, { tags: ['school'] });
    expect(await memoryd.recalled('marimba', 'tag=school')).toEqual([id]);
    expect(await memoryd.recalled('marimba', 'tag=music')).toEqual([]);
  });

  it('hides a memory at once if its new expires_at is in the past', async () => {
    const id = await memoryd.store({ content: 'a short-lived samovar' });
    await memoryd.update(id, { expires_at: '2001-01-01T00:00:00Z' });
    expect(await memoryd.getStatus(id)).toBe(404);
    expect(await memoryd.recalled('samovar')).toEqual([]);
  });

  it('keeps the memory in its tier and session', async () => {
    const id = await memoryd.store({ content: 'promoted', session_id: 'stays' });
    await memoryd.consolidate();
    await memoryd.update(id, { content: 'updated after promotion' });
    expect(await memoryd.memory(id)).toMatchObject({ tier: 'episodic', session_id: 'stays' });
  });

  it('returns 404 for an unknown id', async () => {
    expectError(await memoryd.update('no-such-memory', { content: 'x' }), { code: 'NOT_FOUND' });
  });

  it('returns 404 for a forgotten memory', async () => {
    const id = await memoryd.store(allFields);
    await memoryd.forget(id);
    expectError(await memoryd.update(id, { content: 'x' }), { code: 'NOT_FOUND' });
  });
});

describe('ETag of GET /memories/{id}', () => {
  it('ETag of GET /memories/{id} is the quoted version', async () => {
    const id = await memoryd.store({ content: 'tagged' });
    expect(await memoryd.etag(id)).toBe('"1"');
    await memoryd.update(id, { importance: 0.1 });
    expect(await memoryd.etag(id)).toBe('"2"');
  });

  it.each([
    ['"2"', 304],
    ['W/"2"', 304],
    ['"1", "2"', 304],
    ['*', 304],
    ['"1"', 200],
    ['2', 200],
  ])('ETag of GET /memories/{id} with If-None-Match: %s returns %i, without a body if 304', async (tag, status) => {
    const id = await memoryd.store({ content: 'known' });
    await memoryd.update(id, { importance: 0.1 });
    const answer = await memoryd.send({ path: `/memories/${id}`, headers: { 'if-none-match': tag } });
    expect([answer.status, answer.headers.etag]).toEqual([status, '"2"']);
    expect(answer.text === '').toBe(status === 304);
  });

  const writes: { row: string; change: UpdateRequest }[] = [
    { row: 'content', change: { content: 'other' } },
    { row: 'importance', change: { importance: 0.9 } },
    { row: 'tags', change: { tags: ['other'] } },
    { row: 'metadata', change: { metadata: { other: 1 } } },
    { row: 'expires_at', change: { expires_at: '2999-01-01T00:00:00Z' } },
  ];
  it.each(writes)('changes when a client updates $row', async ({ change }) => {
    const id = await memoryd.store({ content: 'first' });
    const before = await memoryd.etag(id);
    await memoryd.update(id, change);
    expect(await memoryd.etag(id)).not.toBe(before);
  });

  const reads: { row: string; action: (id: string) => Promise<unknown> }[] = [
    { row: 'a recall of the memory', action: () => memoryd.recall('the unchanging obelisk') },
    { row: 'a read of the memory', action: (id) => memoryd.memory(id) },
    { row: 'a consolidation that promotes the memory', action: () => memoryd.consolidate() },
    {
      row: 'a rejected update',
      action: (id) => memoryd.send({ method: 'PUT', path: `/update/${id}`, json: { importance: 7 } }),
    },
  ];
  it.each(reads)('stays the same after $row', async ({ action }) => {
    const id = await memoryd.store({ content: 'the unchanging obelisk' });
    const before = await memoryd.etag(id);
    await action(id);
    expect(await memoryd.etag(id)).toBe(before);
  });
});

describe('If-Match', () => {
  type Write = (id: string, ifMatch: string) => Promise<Awaited<ReturnType<typeof memoryd.send>>>;
  const verbs: { verb: string; write: Write }[] = [
    { verb: 'an update', write: (id, match) => memoryd.update(id, { content: 'new' }, { 'if-match': match }) },
    {
      verb: 'a forget',
      write: (id, match) => memoryd.send({ method: 'DELETE', path: `/forget/${id}`, headers: { 'if-match': match } }),
    },
  ];

  it.each(verbs)('allows $verb with the current ETag', async ({ write }) => {
    const id = await memoryd.store({ content: 'old' });
    expect((await write(id, await memoryd.etag(id))).status).toBe(200);
  });

  it.each(verbs)('allows $verb with * for any version', async ({ write }) => {
    expect((await write(await memoryd.store({ content: 'old' }), '*')).status).toBe(200);
  });

  it.each(verbs)('allows $verb with several ETags if one of them is current', async ({ write }) => {
    const id = await memoryd.store({ content: 'old' });
    expect((await write(id, `"99", ${await memoryd.etag(id)}`)).status).toBe(200);
  });

  it.each(verbs)('rejects $verb with an outdated ETag', async ({ write }) => {
    const id = await memoryd.store({ content: 'old' });
    const seen = await memoryd.etag(id);
    await memoryd.update(id, { content: 'by another writer' });
    expectError(await write(id, seen), { code: 'PRECONDITION_FAILED' });
    expect((await memoryd.memory(id)).content).toBe('by another writer');
  });

  it.each(verbs)('allows $verb with an ETag from before a consolidation and a recall', async ({ write }) => {
    const id = await memoryd.store({ content: 'the patient monolith' });
    const seen = await memoryd.etag(id);
    await memoryd.consolidate();
    await memoryd.recall('monolith');
    expect((await write(id, seen)).status).toBe(200);
  });

  it('allows exactly one of ten concurrent updates', async () => {
    const id = await memoryd.store({ content: 'contended' });
    const seen = await memoryd.etag(id);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => memoryd.update(id, { content: `writer ${n}` }, { 'if-match': seen })),
    );
    const statuses = answers.map((answer) => answer.status).sort();
    expect(statuses).toEqual([200, ...Array.from({ length: 9 }, () => 412)]);
  });

  it.each(verbs)('rejects $verb with a malformed ETag', async ({ write }) => {
    const id = await memoryd.store({ content: 'old' });
    const answer = await write(id, 'not an etag');
    expect([400, 412]).toContain(answer.status);
    expect((await memoryd.memory(id)).content).toBe('old');
  });
});
