import type { SessionResponse } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import { type Client, useServer, WORDS_ONLY } from './under-test.ts';

/** Returns all pages of a session in order. */
async function getPages(client: Client, sessionId: string, limit: string): Promise<SessionResponse[]> {
  const pages = [await client.session(sessionId, limit)];
  for (let cursor = pages[0]?.next_cursor; cursor !== undefined && pages.length < 100; ) {
    const page = await client.session(sessionId, `${limit}&cursor=${encodeURIComponent(cursor)}`);
    pages.push(page);
    cursor = page.next_cursor;
  }
  return pages;
}

const contents = (pages: SessionResponse[]) => pages.flatMap((page) => page.memories.map(({ content }) => content));

describe('GET /session/{session_id}', () => {
  const memoryd = useServer({ env: WORDS_ONLY });

  it('returns only session_id, memories and total, each memory with its five fields', async () => {
    const created_at = '2024-05-06T07:08:09.000Z';
    const id = await memoryd.store({
      ...{ content: 'hello', tags: ['x'], importance: 0.25, session_id: 'shape', created_at },
      ...{ source: 'chat', metadata: { hidden: 1 } },
    });
    expect(await memoryd.session('shape')).toEqual({
      session_id: 'shape',
      memories: [{ id, content: 'hello', tags: ['x'], importance: 0.25, created_at }],
      total: 1,
    });
  });

  it('returns attachments if attachments is true', async () => {
    const attachment = JSON.stringify({ image: 'x"'.repeat(250_000) });
    await memoryd.ok({
      ...{ method: 'POST', path: '/store/batch' },
      json: [
        { content: 'a picture', session_id: 'pictures', attachment },
        { content: 'a word', session_id: 'pictures' },
        { content: 'too large', session_id: 'pictures', attachment: 'x'.repeat(1_048_577) },
      ],
    });
    const { memories } = await memoryd.session('pictures', 'attachments=true');
    expect(memories.map((memory) => memory.attachment)).toEqual([attachment, undefined]);
    expect((await memoryd.session('pictures')).memories[0]).not.toHaveProperty('attachment');
  });

  it('returns an empty session for an unknown id', async () => {
    expect(await memoryd.session('nobody was here')).toEqual({ session_id: 'nobody was here', memories: [], total: 0 });
  });

  it('returns memories stored without a session under "default"', async () => {
    const id = await memoryd.store({ content: 'no session given' });
    expect((await memoryd.session('default')).memories.map((memory) => memory.id)).toContain(id);
  });

  it('returns memories by created_at, and in the order of storing if times are equal', async () => {
    const session_id = 'ordered';
    const at = (created_at: string, content: string) => ({ session_id, created_at, content });
    await memoryd.storeInOrder([
      at('2024-01-03T00:00:00Z', 'fourth'),
      at('2024-01-01T00:00:00Z', 'first'),
      at('2024-01-02T00:00:00Z', 'second'),
      at('2024-01-02T00:00:00Z', 'third'),
      at('2024-01-04T01:00:00+02:00', 'fifth'),
      at('2024-01-04T00:00:00Z', 'sixth'),
    ]);
    const { memories } = await memoryd.session(session_id);
    expect(memories.map((memory) => memory.content)).toEqual(['first', 'second', 'third', 'fourth', 'fifth', 'sixth']);
  });

  it('GET /session/{session_id} omits forgotten memories', async () => {
    const [kept, forgotten] = await memoryd.storeInOrder([
      { content: 'kept', session_id: 'thinned' },
      { content: 'forgotten', session_id: 'thinned' },
    ]);
    await memoryd.forget(forgotten ?? '');
    const { memories, total } = await memoryd.session('thinned');
    expect([memories.map((memory) => memory.id), total]).toEqual([[kept], 1]);
  });

  it('returns an updated memory at its old position', async () => {
    const [first] = await memoryd.storeInOrder([
      { content: 'one', session_id: 'edited' },
      { content: 'two', session_id: 'edited' },
    ]);
    await memoryd.update(first ?? '', { content: 'uno' });
    expect((await memoryd.session('edited')).memories.map((memory) => memory.content)).toEqual(['uno', 'two']);
  });

  it('distinguishes ids that differ in case or Unicode normalization', async () => {
    const ids = ['Fork', 'fork', 'caf\u00e9', 'cafe\u0301'];
    await memoryd.storeAll(ids.map((session_id) => ({ content: `in ${session_id}`, session_id })));
    for (const id of ids) expect((await memoryd.session(id)).total).toBe(1);
  });

  const names: { row: string; id: string }[] = [
    { row: 'a slash', id: 'team/alpha' },
    { row: 'a percent sign', id: '100%' },
    { row: 'a literal percent-encoded slash', id: 'a%2Fb' },
    { row: 'spaces', id: ' two words ' },
    { row: 'a plus sign', id: 'a+b' },
    { row: 'a question mark and a hash', id: 'what?#now' },
    { row: 'two dots', id: '..' },
    { row: 'one dot', id: '.' },
    { row: 'a path with parent folders', id: '../../etc/passwd' },
    { row: 'quotes and SQL', id: `'; DROP TABLE sessions; --"` },
    { row: 'an emoji', id: '👩🏽‍🚀' },
    { row: 'another script', id: '会议记录' },
    { row: 'the name __proto__', id: '__proto__' },
    { row: 'a line break', id: 'a\nb' },
    { row: '101 characters', id: 'l'.repeat(101) },
    { row: '256 characters', id: 'm'.repeat(256) },
    { row: '256 emoji', id: '🦊'.repeat(256) },
  ];
  it.each(names)('accepts an id with $row', async ({ id }) => {
    const stored = await memoryd.store({ content: 'anywhere', session_id: id });
    const session = await memoryd.session(id);
    expect(session).toMatchObject({ session_id: id, memories: [{ id: stored }], total: 1 });
  });

  it('returns at most 1,000 memories per page by default', async () => {
    const session_id = 'many';
    await memoryd.storeAll(Array.from({ length: 1003 }, (_, n) => ({ content: `m${n}`, session_id })));
    const pages = await getPages(memoryd, session_id, '');
    expect(pages.map((page) => page.memories.length)).toEqual([1000, 3]);
    expect(new Set(contents(pages)).size).toBe(1003);
  });
});

describe('pages of a session', () => {
  const memoryd = useServer({ env: { ...WORDS_ONLY, SERVICE_MAX_ANSWER_BYTES: '20000' } });

  it.each([1, 3, 7, 10, 11, 10_000])(
    'pages of a session with limit %i contain each of 10 memories once, in order',
    async (limit) => {
      const session_id = `by ${limit}`;
      const texts = Array.from({ length: 10 }, (_, n) => `entry ${n}`);
      // Equal times, so that only the order of storing decides.
      await memoryd.storeInOrder(texts.map((content) => ({ content, session_id, created_at: '2024-01-01T00:00:00Z' })));
      const pages = await getPages(memoryd, session_id, `limit=${limit}`);
      expect(contents(pages)).toEqual(texts);
      expect(pages.map((page) => page.total)).toEqual(pages.map(() => 10));
      expect(pages.length).toBe(Math.ceil(10 / limit));
      expect(pages.slice(0, -1).every((page) => page.memories.length === limit)).toBe(true);
    },
  );

  it('pages of a session end at SERVICE_MAX_ANSWER_BYTES, and the next page continues', async () => {
    const session_id = 'bulky';
    const texts = Array.from({ length: 10 }, (_, n) => `${n}`.repeat(5000));
    await memoryd.storeInOrder(texts.map((content) => ({ content, session_id })));
    const pages = await getPages(memoryd, session_id, 'limit=1000');
    expect(contents(pages)).toEqual(texts);
    expect(pages.length).toBeGreaterThan(2);
  });

  it('pages of a session contain a memory that is larger than SERVICE_MAX_ANSWER_BYTES', async () => {
    const texts = ['small', 'huge '.repeat(8000), 'small again'];
    await memoryd.storeInOrder(texts.map((content) => ({ content, session_id: 'huge' })));
    expect(contents(await getPages(memoryd, 'huge', ''))).toEqual(texts);
  });

  it('pages of a session continue in order when memories are stored and forgotten between requests', async () => {
    const session_id = 'moving';
    const ids = await memoryd.storeInOrder([0, 1, 2, 3].map((n) => ({ content: `step ${n}`, session_id })));
    const first = await memoryd.session(session_id, 'limit=2');
    await memoryd.forget(ids[1] ?? '');
    await memoryd.store({ content: 'step 4', session_id });
    const rest = await memoryd.session(session_id, `cursor=${encodeURIComponent(first.next_cursor ?? '')}`);
    expect(rest.memories.map((memory) => memory.content)).toEqual(['step 2', 'step 3', 'step 4']);
    expect(rest.next_cursor).toBeUndefined();
  });
});
