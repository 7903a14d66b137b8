import type { Memory, StoreRequest, StoreResponse } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import { expectError, expectRefused } from './refusal.ts';
import { expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';

const MEBIBYTE = 1024 * 1024;

const memoryd = useServer({ env: WORDS_ONLY });

/** Returns a store body of exactly `bytes` bytes. */
function createBody(bytes: number): string {
  const frame = JSON.stringify({ content: '' }).length;
  return JSON.stringify({ content: 'x'.repeat(bytes - frame) });
}

/** Returns a metadata object of exactly `bytes` bytes of JSON. */
function createMetadata(bytes: number): Record<string, string> {
  return { k: 'x'.repeat(bytes - JSON.stringify({ k: '' }).length) };
}

describe('POST /store', () => {
  it('returns 200 with only an id and the status "stored" for a request with content only', async () => {
    const answer = await memoryd.send<StoreResponse>({
      method: 'POST',
      path: '/store',
      json: { content: 'tea at four' },
    });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toMatch(/^application\/json\b/);
    expect(answer.body).toEqual({ id: expect.stringMatching(/^\S+$/), status: 'stored' });
  });

  it('stores content, tags, importance and source', async () => {
    const body = { content: 'The user prefers dark mode', tags: ['preference', 'ui'], importance: 0.8, source: 'chat' };
    expect(await memoryd.memory(await memoryd.store(body))).toMatchObject(body);
  });

  it('stores two memories for the same text', async () => {
    const [first, second] = await memoryd.storeInOrder([{ content: 'twice told' }, { content: 'twice told' }]);
    expect(first).not.toBe(second);
    expect(await memoryd.memory(first ?? '')).toMatchObject({ content: 'twice told', merged_into: null });
    expect(await memoryd.memory(second ?? '')).toMatchObject({ content: 'twice told', merged_into: null });
  });

  it('adds the stored memory to the count of the working tier', async () => {
    const before = await memoryd.stats();
    await memoryd.store({ content: 'counted once' });
    expect(await memoryd.stats()).toMatchObject({
      working_count: before.working_count + 1,
      episodic_count: before.episodic_count,
      semantic_count: 0,
    });
  });

  it('returns unique ids that need no escaping in a URL path', async () => {
    const ids = await memoryd.storeAll(Array.from({ length: 50 }, (_, n) => ({ content: `numbered ${n}` })));
    expect(new Set(ids).size).toBe(50);
    for (const id of ids) expect(encodeURIComponent(id)).toBe(id);
  });

  it('creates a memory with exactly the fields of the contract', async () => {
    const memory = await memoryd.memory(await memoryd.store({ content: 'all fields' }));
    expect(Object.keys(memory).sort()).toEqual(
      [
        ...['access_count', 'accessed_at', 'content', 'created_at', 'derived_from', 'expires_at', 'id', 'importance'],
        ...['merged_into', 'metadata', 'retention', 'session_id', 'source', 'superseded_by', 'supersedes', 'tags'],
        ...['tier', 'updated_at', 'valid_from', 'valid_to', 'version'],
      ].sort(),
    );
  });
});

describe('content is stored byte for byte with', () => {
  const texts: { row: string; content: string }[] = [
    { row: 'one character', content: 'x' },
    { row: 'surrounding whitespace', content: '  \t leading and trailing \n ' },
    { row: 'all kinds of line breaks', content: 'a\nb\r\nc\rd\u2028e\u2029f\u0085g' },
    { row: 'control characters', content: 'a\u0001\u0008\u001b[31m\u007f' },
    { row: 'decomposed accents', content: 'cafe\u0301 A\u030angstro\u0308m' },
    { row: 'composed accents', content: 'caf\u00e9 \u00c5ngstr\u00f6m' },
    { row: 'compatibility characters', content: 'ﬁn Ⅷ ① ｆｕｌｌ' },
    { row: 'a byte order mark', content: '\ufeffmarked\ufeff' },
    { row: 'noncharacters and private use', content: 'a\uffff\ufffe\ue000\u{10ffff}' },
    { row: 'an emoji of several code points', content: '👩🏽‍🚀 and 🏴󠁧󠁢󠁳󠁣󠁴󠁿' },
    { row: 'Chinese, Japanese and Korean', content: '東京タワーは赤い。汉字。한국어' },
    { row: 'right-to-left text', content: 'שלום \u202eabc\u202c مرحبا' },
    { row: 'markup', content: '<script>alert("1")</script>&amp;' },
    { row: 'quotes and backslashes', content: `'"\\ \\u0041 %s %00 \${x}` },
    { row: 'SQL', content: `'); DROP TABLE memories; --` },
    { row: 'prototype names', content: '__proto__ constructor toString' },
    { row: 'replacement characters', content: 'lost\ufffdfound' },
    { row: 'a text of 200,000 characters', content: 'a long memory, word after word, and on '.repeat(5200) },
  ];

  it.each(texts)('content is stored byte for byte with $row', async ({ content }) => {
    const id = await memoryd.store({ content, session_id: 'byte for byte' });
    expect((await memoryd.memory(id)).content).toBe(content);
    const { memories } = await memoryd.session('byte for byte');
    expect(memories.find((memory) => memory.id === id)?.content).toBe(content);
  });

  it('content is stored byte for byte with JSON escapes', async () => {
    const answer = await memoryd.send<StoreResponse>({
      method: 'POST',
      path: '/store',
      headers: { 'content-type': 'application/json' },
      body: String.raw`{"\u0063ontent": "\u00e9\ud83d\ude00\/\n"}`,
    });
    expect((await memoryd.memory(answer.body.id)).content).toBe('é😀/\n');
  });

  it('mixed whitespace and Unicode, and returned unchanged by recall', async () => {
    const content = '  Zwölf  Boxkämpfer\r\njagen "Viktor" \u{1f98a}  ';
    await memoryd.store({ content });
    expect((await memoryd.recall('Boxkämpfer')).results[0]?.content).toBe(content);
  });
});

describe('fields of a stored memory:', () => {
  const tags = (count: number) => Array.from({ length: count }, (_, n) => `tag ${n}`);
  const fields: { row: string; store?: Partial<StoreRequest>; reads: Partial<Memory> }[] = [
    { row: 'tags default to []', reads: { tags: [] } },
    { row: 'tags keep their order', store: { tags: ['b', 'a', 'c'] }, reads: { tags: ['b', 'a', 'c'] } },
    { row: 'duplicate tags are dropped', store: { tags: ['b', 'a', 'b', 'a', 'c'] }, reads: { tags: ['b', 'a', 'c'] } },
    { row: 'tags that differ in case are distinct', store: { tags: ['Ui', 'ui'] }, reads: { tags: ['Ui', 'ui'] } },
    { row: '64 tags are stored', store: { tags: tags(64) }, reads: { tags: tags(64) } },
    {
      row: 'a tag of 128 characters is stored',
      store: { tags: ['t'.repeat(128)] },
      reads: { tags: ['t'.repeat(128)] },
    },
    { row: 'a tag of 128 emoji is stored', store: { tags: ['🦊'.repeat(128)] }, reads: { tags: ['🦊'.repeat(128)] } },
    {
      row: 'tags may contain any characters',
      store: { tags: ['a,b', '["c"]', ' d '] },
      reads: { tags: ['a,b', '["c"]', ' d '] },
    },
    { row: 'importance defaults to 0.5', reads: { importance: 0.5 } },
    { row: 'importance 0 is stored', store: { importance: 0 }, reads: { importance: 0 } },
    { row: 'importance 1 is stored', store: { importance: 1 }, reads: { importance: 1 } },
    {
      row: 'importance is stored without rounding',
      store: { importance: 0.1 + 0.2 },
      reads: { importance: 0.1 + 0.2 },
    },
    { row: 'source defaults to "api"', reads: { source: 'api' } },
    {
      row: 'a source of 256 characters is stored',
      store: { source: 's'.repeat(256) },
      reads: { source: 's'.repeat(256) },
    },
    { row: 'session_id defaults to "default"', reads: { session_id: 'default' } },
    { row: 'a session_id of 1 character is stored', store: { session_id: 'x' }, reads: { session_id: 'x' } },
    {
      row: 'a session_id of 256 characters is stored',
      store: { session_id: 'i'.repeat(256) },
      reads: { session_id: 'i'.repeat(256) },
    },
    {
      row: 'created_at may be in the past',
      store: { created_at: '2019-03-05T07:08:09.123Z' },
      reads: { created_at: '2019-03-05T07:08:09.123Z' },
    },
    {
      row: 'created_at may be before 1970',
      store: { created_at: '1969-07-20T20:17:40.000Z' },
      reads: { created_at: '1969-07-20T20:17:40.000Z' },
    },
    {
      row: 'created_at with an offset is returned in UTC',
      store: { created_at: '2020-01-01T01:30:00+02:00' },
      reads: { created_at: '2019-12-31T23:30:00.000Z' },
    },
    {
      row: 'created_at as a date is midnight UTC',
      store: { created_at: '2025-01-01' },
      reads: { created_at: '2025-01-01T00:00:00.000Z' },
    },
    {
      row: 'created_at may omit the seconds and the colon of the offset',
      store: { created_at: '2026-01-01T09:30+0530' },
      reads: { created_at: '2026-01-01T04:00:00.000Z' },
    },
    {
      row: 'null in an optional field is the same as an absent field',
      store: {
        tags: null,
        importance: null,
        source: null,
        session_id: null,
        expires_at: null,
        metadata: null,
        supersedes: null,
      },
      reads: { tags: [], importance: 0.5, source: 'api', session_id: 'default', expires_at: null, metadata: {} },
    },
    { row: 'expires_at defaults to null', reads: { expires_at: null } },
    {
      row: 'expires_at in the future is stored',
      store: { expires_at: '2999-01-01T00:00:00.000Z' },
      reads: { expires_at: '2999-01-01T00:00:00.000Z' },
    },
    { row: 'metadata defaults to {}', reads: { metadata: {} } },
    {
      row: 'metadata with every JSON type is stored',
      store: { metadata: { a: [1, 2.5, { b: null }], 'c d': true, ü: '😀', '': 'empty' } },
      reads: { metadata: { a: [1, 2.5, { b: null }], 'c d': true, ü: '😀', '': 'empty' } },
    },
    {
      row: 'metadata of 16 KiB is stored',
      store: { metadata: createMetadata(16_384) },
      reads: { metadata: createMetadata(16_384) },
    },
    { row: 'supersedes defaults to null', reads: { supersedes: null, superseded_by: null } },
    { row: 'a new memory is in the working tier', reads: { tier: 'working' } },
    { row: 'a new memory has no merged_into', reads: { merged_into: null } },
    { row: 'a new memory has an access_count of 0', reads: { access_count: 0, accessed_at: null } },
  ];

  it.each(fields)('fields of a stored memory: $row', async ({ store, reads }) => {
    const memory = await memoryd.memory(await memoryd.store({ content: 'a plain memory', ...store }));
    const read = Object.fromEntries(Object.keys(reads).map((field) => [field, memory[field as keyof Memory]]));
    expect(read).toEqual(reads);
  });

  it('fields of a stored memory: retention of a new memory is above 0.9 and increases with importance', async () => {
    const ids = await memoryd.storeAll([0, 0.5, 1].map((importance) => ({ content: 'a new memory', importance })));
    const memories = await Promise.all(ids.map((id) => memoryd.memory(id)));
    const retentions = memories.map(({ retention }) => retention);
    expect(retentions[0]).toBeGreaterThan(0.9);
    expect(retentions[2]).toBeLessThanOrEqual(1);
    expect(retentions).toEqual([...new Set(retentions)].sort());
  });

  it('fields of a stored memory: created_at defaults to the current time, as an ISO 8601 timestamp in UTC', async () => {
    const before = Date.now();
    const memory = await memoryd.memory(await memoryd.store({ content: 'just now' }));
    expect(memory.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
    expect(Date.parse(memory.created_at)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(memory.created_at)).toBeLessThanOrEqual(Date.now());
  });

  it('fields of a stored memory: supersedes links both memories to each other', async () => {
    const old = await memoryd.store({ content: 'the meeting is on Monday' });
    const correction = await memoryd.store({ content: 'the meeting is on Tuesday', supersedes: old });
    expect(await memoryd.memory(correction)).toMatchObject({ supersedes: old, superseded_by: null });
    expect(await memoryd.memory(old)).toMatchObject({ supersedes: null, superseded_by: correction });
  });

  it('fields of a stored memory: supersedes with an unknown id is rejected', async () => {
    const json = { content: 'corrects nothing', supersedes: 'no-such-memory' };
    await expectRefused(
      memoryd,
      { method: 'POST', path: '/store', json },
      {
        code: 'NOT_FOUND',
        field: 'supersedes',
      },
    );
  });
});

describe('an expired memory', () => {
  const past = '2001-01-01T00:00:00Z';

  it('an expired memory is hidden at once if it is already expired when stored', async () => {
    const { working_count } = await memoryd.stats();
    const id = await memoryd.store({ content: 'quetzal season is over', session_id: 'birds', expires_at: past });
    expect(await memoryd.getStatus(id)).toBe(404);
    expect(await memoryd.recalled('quetzal season')).not.toContain(id);
    expect(await memoryd.session('birds')).toMatchObject({ memories: [], total: 0 });
    expect((await memoryd.memories('session_id=birds')).total).toBe(0);
    expectError(await memoryd.update(id, { importance: 1 }), { code: 'NOT_FOUND' });
    expect((await memoryd.stats()).working_count).toBe(working_count);
  });

  it('an expired memory is hidden as soon as it expires while the server runs', async () => {
    const soon = new Date(Date.now() + 3000).toISOString();
    const id = await memoryd.store({ content: 'the ptarmigan pie is warm', expires_at: soon });
    expect(await memoryd.getStatus(id)).toBe(200);
    expect(await memoryd.recalled('ptarmigan')).toContain(id);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, Date.parse(soon) + 5 - Date.now())));
    expect(await memoryd.getStatus(id)).toBe(404);
    expect(await memoryd.recalled('ptarmigan')).not.toContain(id);
  });

  it('an expired memory can still be forgotten', async () => {
    const id = await memoryd.store({ content: 'gone but not forgotten', expires_at: past });
    expect(await memoryd.forget(id)).toMatchObject({ status: 'forgotten', id });
    await expectRefused(memoryd, { method: 'DELETE', path: `/forget/${id}` }, { code: 'NOT_FOUND' });
  });
});

describe('a memory is recalled right after it is stored, by', () => {
  const matches: { row: string; content: string; query: string }[] = [
    { row: 'a word', content: 'The hippopotamus yawned', query: 'hippopotamus' },
    { row: 'a word in a different case', content: 'Remember the KALEIDOSCOPE', query: 'kaleidoscope' },
    { row: 'a word without its accents', content: 'We met at the Škoda garage', query: 'skoda' },
    { row: 'a word with decomposed accents', content: 'die Bu\u0308cherei schließt', query: 'B\u00fccherei' },
    { row: 'an inflected word', content: 'She was photographing lighthouses', query: 'lighthouse' },
    { row: 'a number', content: 'The locker combination is 48151623', query: '48151623' },
    { row: 'an identifier', content: 'call retry_with_backoff() on ECONNRESET', query: 'retry_with_backoff' },
    { row: 'a version', content: 'pinned to libquux 3.14.159', query: '3.14.159' },
    { row: 'an e-mail address', content: 'write to ophelia@elsinore.example', query: 'ophelia@elsinore.example' },
    { row: 'common words only', content: 'to be or not to be', query: 'to be or not to be' },
    { row: 'a long word', content: `the token is ${'z9'.repeat(100)}`, query: 'z9'.repeat(100) },
    { row: 'Cyrillic', content: 'Мы встретились у водопада', query: 'водопада' },
    {
      row: 'one word among many in the query',
      content: 'axolotls regrow limbs',
      query: 'tell me all about axolotls please',
    },
  ];

  it.each(matches)('a memory is recalled right after it is stored, by $row', async ({ content, query }) => {
    const id = await memoryd.store({ content });
    expect(await memoryd.recalled(query)).toContain(id);
  });

  it('a word with a number, for each of 40 memories stored in a row', async () => {
    for (let n = 0; n < 40; n += 1) {
      const id = await memoryd.store({ content: `parcel number pq${n}zz has arrived` });
      expect((await memoryd.recalled(`pq${n}zz`))[0]).toBe(id);
    }
  });
});

describe('a request body', () => {
  const json = { 'content-type': 'application/json' };

  it('a request body of 1 MiB is accepted', async () => {
    const body = createBody(MEBIBYTE);
    const answer = await memoryd.send<StoreResponse>({ method: 'POST', path: '/store', headers: json, body });
    expect(answer.status, answer.text).toBe(200);
    expect((await memoryd.memory(answer.body.id)).content.length).toBe(MEBIBYTE - 14);
  });

  const tooLarge: { row: string; bytes: number; chunked?: boolean; path?: string; method?: string }[] = [
    { row: 'one byte above 1 MiB', bytes: MEBIBYTE + 1 },
    { row: 'one byte above 1 MiB, without a Content-Length,', bytes: MEBIBYTE + 1, chunked: true },
    { row: '10 MB', bytes: 10_000_000 },
    { row: '10 MB, without a Content-Length,', bytes: 10_000_000, chunked: true },
    { row: '10 MB for an update', bytes: 10_000_000, method: 'PUT', path: '/update/some-id' },
  ];
  it.each(tooLarge)(
    'a request body of $row is rejected',
    async ({ bytes, chunked = false, method = 'POST', path = '/store' }) => {
      const before = (await memoryd.stats()).working_count;
      const answer = await expectRefused(
        memoryd,
        { method, path, headers: json, body: createBody(bytes), chunked },
        { code: 'PAYLOAD_TOO_LARGE' },
      );
      expect(answer.text).toMatch(/1048576 bytes; raise the limit with SERVICE_MAX_BODY_BYTES/);
      expect((await memoryd.stats()).working_count).toBe(before);
    },
  );

  it('larger than SERVICE_MAX_BODY_BYTES is rejected', async () => {
    const small = await startClient({ env: { ...WORDS_ONLY, SERVICE_MAX_BODY_BYTES: '2000' } });
    const sendBody = (bytes: number) =>
      small.send({ method: 'POST', path: '/store', headers: json, body: createBody(bytes) });
    expect((await sendBody(2000)).status).toBe(200);
    expectError(await sendBody(2001), { code: 'PAYLOAD_TOO_LARGE' });
    await expectCleanEnd(small.server);
  });
});
