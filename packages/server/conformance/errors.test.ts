import { METHODS } from 'node:http';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseRaw, type Request, sendRaw } from './http.ts';
import { expectError, expectRefused, STATUS } from './refusal.ts';
import { useServer, WORDS_ONLY } from './under-test.ts';

const memoryd = useServer({ env: WORDS_ONLY });

const JSON_TYPE = { 'content-type': 'application/json' };

/** Formats a value for the title of a test: JSON, shortened to 48 characters. */
function toTitle(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 48 ? `${text.slice(0, 45)}… (${text.length} characters)` : text;
}

/** Returns the JSON text of arrays nested `levels` deep. */
function getNestedJson(levels: number): string {
  return `${'['.repeat(levels)}${']'.repeat(levels)}`;
}

const NUL = 'a\u0000b';
const LONE_HIGH = 'a\ud83d';
const LONE_LOW = '\ude00b';
const INVALID_TEXTS = [NUL, LONE_HIGH, LONE_LOW];
const NOT_STRINGS = [7, true, [], ['a'], {}];

describe('POST /store rejects', () => {
  beforeAll(() => memoryd.store({ content: 'the only memory' }));

  /** Invalid values by field. */
  const wrong: Record<string, unknown[]> = {
    content: ['', ' ', '\t\n\r', '\u00a0\u3000', null, ...NOT_STRINGS, ...INVALID_TEXTS],
    tags: [
      ...['a', 7, true, {}, [7], [null], ['ok', true], [['a']], [{}], [''], ['t'.repeat(129)]],
      Array.from({ length: 65 }, (_, n) => `t${n}`),
      ...INVALID_TEXTS.map((tag) => ['ok', tag]),
    ],
    importance: ['0.5', true, [], {}, [0.5], -0.01, 1.01, -1, 2, 1e308],
    source: [...NOT_STRINGS, 's'.repeat(257), ...INVALID_TEXTS],
    session_id: [...NOT_STRINGS, '', 's'.repeat(257), ...INVALID_TEXTS],
    created_at: [
      ...NOT_STRINGS,
      ...['', 'yesterday', '2024-13-01T00:00:00Z', '2024-02-30T00:00:00Z', '2024-01-01T25:00:00Z', '1700000000', NUL],
    ],
    expires_at: [
      7,
      true,
      [],
      {},
      '',
      'tomorrow',
      '2024-13-01T00:00:00Z',
      '2999-02-29T00:00:00Z',
      '2024-01-01T00:61:00Z',
    ],
    metadata: [
      ...['{}', 7, true, [], [{}]],
      ...[{ discord_id: 1187654321987654400 }, { deep: [{ n: -(2 ** 53) }] }, { n: 1e21 }],
      { k: 'x'.repeat(16_384) },
      Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`key${n}`, n])),
      { k: NUL },
      { k: [{ deep: LONE_HIGH }] },
      { [NUL]: 1 },
      { [LONE_LOW]: 1 },
      JSON.parse(`{"k":${getNestedJson(2000)}}`),
    ],
    supersedes: [7, true, [], {}, NUL],
    user_id: [7, true, [], {}, '', 'x'.repeat(257), NUL],
    agent_id: [7, true, [], {}, '', 'x'.repeat(257), NUL],
  };
  const rows = Object.entries(wrong).flatMap(([field, values]) =>
    values.map((value) => ({
      row: `${field} ${toTitle(value)}`,
      field,
      json: { content: 'rejected', [field]: value },
    })),
  );
  it.each(rows)('POST /store rejects $row', async ({ field, json }) => {
    await expectRefused(memoryd, { method: 'POST', path: '/store', json }, { field });
  });

  it.each(['colour', 'id', 'tier', 'score', 'Content', 'constructor', 'a/b~c', ''])(
    'POST /store rejects the unknown field "%s"',
    async (field) => {
      const json = { content: 'rejected', [field]: 'x' };
      await expectRefused(memoryd, { method: 'POST', path: '/store', json }, { field });
    },
  );

  it('POST /store rejects a request without content', async () => {
    await expectRefused(memoryd, { method: 'POST', path: '/store', json: { tags: ['a'] } }, { field: 'content' });
  });

  it('POST /store rejects several wrong fields at once, with a detail for each', async () => {
    const json = { content: 7, tags: 'a', importance: 2, colour: 'red' };
    const answer = await expectRefused<{ error: { details: { path: string }[] } }>(memoryd, {
      method: 'POST',
      path: '/store',
      json,
    });
    expect(answer.body.error.details.map((detail) => detail.path).sort()).toEqual([
      '/colour',
      '/content',
      '/importance',
      '/tags',
    ]);
  });

  const bodies: { row: string; body?: string | Uint8Array; headers?: Record<string, string> }[] = [
    { row: 'missing, without a content type', headers: {} },
    { row: 'missing, with a JSON content type' },
    { row: 'an empty body', body: '' },
    { row: 'only whitespace', body: ' \n ' },
    { row: 'an unterminated object', body: '{"content":"a"' },
    { row: 'an unterminated string', body: '{"content":"a' },
    { row: 'JSON with a missing value', body: '{"content":}' },
    { row: 'JSON with a trailing comma', body: '{"content":"a",}' },
    { row: 'an object followed by other text', body: '{"content":"a"} x' },
    { row: 'two objects', body: '{"content":"a"}{"content":"b"}' },
    { row: 'JSON with single quotes', body: `{'content':'a'}` },
    { row: 'JSON with a name without quotes', body: '{content:"a"}' },
    { row: 'JSON with a comment', body: '{"content":"a"/* b */}' },
    { row: 'JSON with NaN', body: '{"content":"a","importance":NaN}' },
    { row: 'JSON with a number too large for a double', body: '{"content":"a","importance":1e999}' },
    { row: 'a string with an unescaped line break', body: '{"content":"a\nb"}' },
    { row: 'a string with an invalid escape', body: String.raw`{"content":"\x41"}` },
    { row: 'null', body: 'null' },
    { row: 'an array', body: '[{"content":"a"}]' },
    { row: 'a string', body: '"content"' },
    { row: 'a number', body: '7' },
    { row: 'true', body: 'true' },
    { row: '100,000 opening brackets', body: '['.repeat(100_000) },
    { row: '100,000 nested arrays', body: getNestedJson(100_000) },
    { row: '50,000 nested arrays in a field', body: `{"content":"a","metadata":{"k":${getNestedJson(50_000)}}}` },
    { row: 'an object with a field __proto__', body: '{"content":"a","__proto__":{"tags":["x"]}}' },
    { row: 'invalid UTF-8', body: Buffer.from([...Buffer.from('{"content":"a'), 0xff, 0xfe, ...Buffer.from('"}')]) },
    {
      row: 'overlong UTF-8',
      body: Buffer.from([...Buffer.from('{"content":"'), 0xc0, 0xaf, ...Buffer.from('"}')]),
    },
    {
      row: 'UTF-8 with a surrogate',
      body: Buffer.from([...Buffer.from('{"content":"'), 0xed, 0xa0, 0x80, ...Buffer.from('"}')]),
    },
    {
      row: 'truncated UTF-8',
      body: Buffer.from([...Buffer.from('{"content":"'), 0xe4, 0xbd, ...Buffer.from('"}')]),
    },
    { row: 'UTF-16', body: Buffer.from('{"content":"a"}', 'utf16le') },
    { row: 'a string with an unescaped U+0000', body: '{"content":"a\u0000b"}' },
    { row: 'random bytes', body: Buffer.from(Array.from({ length: 999 }, (_, n) => (n * 197 + 31) % 256)) },
    { row: 'a form', body: 'content=a&tags=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    { row: 'a form with a JSON content type', body: 'content=a&tags=b' },
    {
      row: 'a multipart form',
      body: '--x\r\nContent-Disposition: form-data; name="content"\r\n\r\na\r\n--x--\r\n',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
    },
    { row: 'XML', body: '<content>a</content>', headers: { 'content-type': 'application/xml' } },
    { row: 'plain text', body: 'remember this', headers: { 'content-type': 'text/plain' } },
    { row: 'text without a content type', body: 'remember this', headers: {} },
    {
      row: 'text with a malformed content type',
      body: 'remember this',
      headers: { 'content-type': ';;;/=' },
    },
    { row: 'text with an empty content type', body: 'remember this', headers: { 'content-type': '' } },
    {
      row: 'text with an unknown charset',
      body: 'remember',
      headers: { 'content-type': 'application/json; charset=x' },
    },
  ];
  it.each(bodies)('POST /store rejects a body that is $row', async ({ body, headers = JSON_TYPE }) => {
    const request: Request = { method: 'POST', path: '/store', headers };
    if (body !== undefined) request.body = body;
    await expectRefused(memoryd, request);
  });

  it.each(['text/plain', 'application/vnd.api+json', 'application/xml', 'nonsense'])(
    'POST /store rejects JSON with the content type %s at most with 400, never with 415',
    async (type) => {
      const body = '{"content":"JSON by another name","session_id":"typed"}';
      const answer = await memoryd.send({ method: 'POST', path: '/store', headers: { 'content-type': type }, body });
      if (answer.status !== 200) expectError(answer);
      await memoryd.forgetMany('session_id=typed');
    },
  );
});

describe('POST /store accepts', () => {
  it.each([
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'APPLICATION/JSON',
    ' application/json ',
  ])('JSON with the content type "%s"', async (type) => {
    const body = '{"content":"well typed","session_id":"typed"}';
    const answer = await memoryd.send({ method: 'POST', path: '/store', headers: { 'content-type': type }, body });
    expect(answer.status, answer.text).toBe(200);
    await memoryd.forgetMany('session_id=typed');
  });
});

describe('PUT /update/{memory_id} rejects', () => {
  let id = '';
  beforeAll(async () => {
    id = await memoryd.store({ content: 'unchanged', tags: ['a'], importance: 0.4, metadata: { k: 1 } });
  });

  const wrong: Record<string, unknown[]> = {
    content: ['', '  ', 7, [], NUL, LONE_HIGH],
    importance: ['1', true, -0.1, 1.1],
    tags: ['a', [null], [7], [''], Array.from({ length: 65 }, (_, n) => `t${n}`), [NUL]],
    metadata: [[], 'x', { k: 'x'.repeat(16_384) }, { k: LONE_LOW }],
    expires_at: [7, '', 'soon', '2024-13-01T00:00:00Z', false],
    session_id: ['other'],
    source: ['other'],
    created_at: ['2024-01-01T00:00:00Z'],
    supersedes: [7, true, [], {}, NUL],
    id: ['other'],
    tier: ['semantic'],
    colour: ['red'],
  };
  const rows = Object.entries(wrong).flatMap(([field, values]) =>
    values.map((value) => ({ row: `${field} ${toTitle(value)}`, field, json: { importance: 0.4, [field]: value } })),
  );
  it.each(rows)('PUT /update/{memory_id} rejects $row', async ({ field, json }) => {
    await expectRefused(memoryd, { method: 'PUT', path: `/update/${id}`, json }, { field });
    expect(await memoryd.memory(id)).toMatchObject({ content: 'unchanged', tags: ['a'], importance: 0.4, version: 1 });
  });

  it.each(['{}', '', 'null', '[]', '"x"', '{"content":', 'content=a', '{"content":null,"tags":null}'])(
    'PUT /update/{memory_id} rejects the body "%s"',
    async (body) => {
      await expectRefused(memoryd, { method: 'PUT', path: `/update/${id}`, headers: JSON_TYPE, body });
      expect((await memoryd.memory(id)).version).toBe(1);
    },
  );

  it('PUT /update/{memory_id} rejects a request without a body', async () => {
    await expectRefused(memoryd, { method: 'PUT', path: `/update/${id}` });
  });
});

describe('the service rejects invalid query parameters:', () => {
  const rows: { path: string; field: string }[] = [
    { path: '/recall', field: 'query' },
    { path: '/recall?query=', field: 'query' },
    { path: '/recall?query=%20%09%0A', field: 'query' },
    { path: `/recall?query=${'q'.repeat(8193)}`, field: 'query' },
    { path: '/recall?query=a%00b', field: 'query' },
    { path: '/recall?query=a&query=b', field: 'query' },
    ...['0', '-1', '1001', '1.5', 'five', 'NaN', 'Infinity', '1e99', '99999999999999999999', '0x10', '5,6'].map(
      (value) => ({ path: `/recall?query=a&top_k=${value}`, field: 'top_k' }),
    ),
    { path: '/recall?query=a&top_k=1&top_k=2', field: 'top_k' },
    { path: '/recall?query=a&colour=red', field: 'colour' },
    { path: '/recall?query=a&constructor=x', field: 'constructor' },
    { path: '/recall?query=a&topK=3', field: 'topK' },
    { path: '/recall?query=a&tier=short', field: 'tier' },
    { path: '/recall?query=a&tier=working&tier=episodic', field: 'tier' },
    { path: `/recall?query=a&tag=${'t'.repeat(129)}`, field: 'tag' },
    { path: `/recall?query=a${'&tag=t'.repeat(65)}`, field: 'tag' },
    { path: `/recall?query=a&session_id=${'s'.repeat(257)}`, field: 'session_id' },
    { path: '/recall?query=a&session_id=x&session_id=y', field: 'session_id' },
    { path: `/recall?query=a&source=${'s'.repeat(257)}`, field: 'source' },
    { path: '/recall?query=a&since=yesterday', field: 'since' },
    { path: '/recall?query=a&until=2024-13-01T00:00:00Z', field: 'until' },
    { path: '/recall?query=a&until=2024-02-30T00:00:00Z', field: 'until' },
    ...['-0.1', '1.1', 'high', 'NaN'].map((value) => ({
      path: `/recall?query=a&min_score=${value}`,
      field: 'min_score',
    })),
    ...['maybe', '1'].map((value) => ({ path: `/recall?query=a&only_relevant=${value}`, field: 'only_relevant' })),
    ...['maybe', '1'].map((value) => ({ path: `/recall?query=a&highlight=${value}`, field: 'highlight' })),
    { path: '/recall?query=a&metadata.k=1&metadata.k=2', field: 'metadata.k' },
    { path: '/recall?query=a&metadata.k=1&metadata[k]=2', field: 'metadata.k' },
    ...['0', '-1', '10001', 'many', '1.5'].map((value) => ({ path: `/session/s?limit=${value}`, field: 'limit' })),
    { path: '/session/s?limit=1&limit=2', field: 'limit' },
    { path: '/session/s?cursor=nonsense', field: 'cursor' },
    { path: `/session/s?cursor=${'c'.repeat(1025)}`, field: 'cursor' },
    { path: '/session/s?colour=red', field: 'colour' },
    { path: `/session/${'s'.repeat(257)}`, field: 'session_id' },
    { path: '/memories?limit=0', field: 'limit' },
    { path: '/memories?limit=10001', field: 'limit' },
    { path: '/memories?cursor=nonsense', field: 'cursor' },
    { path: '/memories?tier=old', field: 'tier' },
    { path: '/memories?since=never', field: 'since' },
    { path: '/memories?colour=red', field: 'colour' },
    { path: '/sessions?limit=0', field: 'limit' },
    { path: '/sessions?colour=red', field: 'colour' },
  ];
  it.each(rows.map((row) => ({ ...row, row: toTitle(row.path) })))(
    'the service rejects invalid query parameters: $row',
    async ({ path, field }) => {
      await expectRefused(memoryd, { path }, { field });
    },
  );

  it.each([
    { path: '/events?type=x', pointer: '/type' },
    { path: `/recall?query=a&tag=ok&tag=${'t'.repeat(129)}`, pointer: '/tag' },
    { path: '/recall?query=a&metadata.k=1&metadata=x', pointer: '/metadata' },
    { path: '/memories?metadata.k=1&metadata.k=2', pointer: '/metadata.k' },
    { path: '/sessions?cursor=abc', pointer: '/cursor' },
    { path: '/consolidations?cursor=abc', pointer: '/cursor' },
    { path: '/corrections?cursor=abc', pointer: '/cursor' },
    { path: '/corrections?state=open', pointer: '/state' },
    { path: '/corrections?shared=true', pointer: '/shared' },
  ])(
    'the service rejects invalid query parameters: $path, with a detail whose path is the parameter',
    async ({ path, pointer }) => {
      const answer = await expectRefused<{ error: { details: { path: string }[] } }>(memoryd, { path });
      expect(answer.body.error.details.map((detail) => detail.path)).toEqual([pointer]);
    },
  );

  const forms = ['.%3Ckey%3E', '[%3Ckey%3E]', '.%7Bkey%7D', '.%3CKEY%3E', '', '.', '[]', '[a][b]'];
  it.each(
    ['/recall?query=a&', '/memories?', '/sessions?'].flatMap((path) => forms.map((form) => `${path}metadata${form}=x`)),
  )(
    'the service rejects invalid query parameters: a metadata filter without the name of a field, and names the right form: %s',
    async (path) => {
      const answer = await memoryd.send<{ error: { message: string; details: { path: string }[] } }>({ path });
      expectError(answer, {});
      expect(answer.body.error.message).toContain('metadata.room=1');
      const [, parameter = ''] = /(metadata[^=]*)=/.exec(decodeURIComponent(path)) ?? [];
      const name = parameter.replace(/^metadata\[(<key>)\]$/, 'metadata.$1');
      expect(answer.body.error.details.map((detail) => detail.path)).toEqual([`/${name}`]);
    },
  );

  it('the service rejects invalid query parameters, such as a cursor of another list', async () => {
    await memoryd.storeAll([0, 1, 2].map((n) => ({ content: `paged ${n}`, session_id: `paged ${n}` })));
    const { next_cursor: cursor = '' } = await memoryd.memories('limit=1');
    for (const path of ['/session/default', '/sessions', '/consolidations']) {
      await expectRefused(memoryd, { path: `${path}?cursor=${encodeURIComponent(cursor)}` }, { field: 'cursor' });
    }
    expect((await memoryd.send({ path: `/memories?cursor=${encodeURIComponent(cursor)}` })).status).toBe(200);
  });

  it('the service rejects invalid query parameters, such as a cursor of another namespace, with the same filters', async () => {
    const [own, other] = [{ 'X-Memoryd-Namespace': 'paged' }, { 'X-Memoryd-Namespace': 'paged-too' }] as const;
    for (const headers of [own, other]) {
      for (const user_id of ['ada', 'ben'])
        await memoryd.store({ content: 'paged', user_id, session_id: 's' }, headers);
      for (let run = 0; run < 2; run++) await memoryd.ok({ method: 'POST', path: '/consolidate', headers });
    }
    for (const list of [
      '/memories?limit=1',
      '/sessions?limit=1',
      '/session/s?limit=1',
      '/users?limit=1',
      '/consolidations?limit=1',
    ]) {
      const { next_cursor = '' } = await memoryd.ok<{ next_cursor?: string }>({ path: list, headers: own });
      const path = `${list}&cursor=${encodeURIComponent(next_cursor)}`;
      await expectRefused(memoryd, { path, headers: other }, { field: 'cursor' });
      expect((await memoryd.send({ path, headers: own })).status, list).toBe(200);
    }
  });

  const bulk: { path: string; field: string }[] = [
    { path: '/memories?before=never', field: 'before' },
    { path: '/memories?before=2024-01-01T00:00:00Z&before=2025-01-01T00:00:00Z', field: 'before' },
    { path: '/memories?tag=', field: 'tag' },
    { path: '/memories?external_id=', field: 'external_id' },
    { path: '/memories?session_id=', field: 'session_id' },
    { path: '/memories?tier=working', field: 'tier' },
    { path: '/memories?session_id=a&session_id=b', field: 'session_id' },
    ...['user_id', 'agent_id', 'shared', 'session_id', 'tag', 'source', 'before'].map((field) => ({
      path: `/memories?session_id=kept&${field}=`,
      field,
    })),
    { path: '/memories?session_id=kept&metadata.room=', field: 'metadata.room' },
    { path: '/memories?session_id=kept&tag', field: 'tag' },
  ];
  it.each(bulk)('the service rejects invalid query parameters: DELETE $path', async ({ path, field }) => {
    await memoryd.store({ content: 'kept', session_id: 'kept', tags: ['kept'] });
    const { total } = await memoryd.memories('session_id=kept');
    await expectRefused(memoryd, { method: 'DELETE', path }, { field });
    expect((await memoryd.memories('session_id=kept')).total).toBe(total);
  });

  const owners = [
    '/recall?query=a',
    '/memories?limit=1',
    '/sessions?limit=1',
    '/session/s?limit=1',
    '/stats?shared=',
    '/export?shared=true',
  ];
  it.each(owners.flatMap((path) => ['user_id', 'agent_id'].map((field) => ({ path: `${path}&${field}=`, field }))))(
    '$path, because it would not be limited to one owner',
    async ({ path, field }) => {
      const answer = await expectRefused<{ error: { details: { path: string }[] } }>(memoryd, { path });
      expect(answer.body.error.details.map((detail) => detail.path)).toContain(`/${field}`);
    },
  );

  it('an empty filter of an export', async () => {
    await expectRefused(memoryd, { path: '/export?shared=' }, { field: 'shared' });
  });
});

describe('an empty query parameter is absent:', () => {
  beforeAll(() => memoryd.store({ content: 'present', session_id: 'present', tags: ['present'] }));

  const fields =
    'top_k tag tier session_id source external_id since until metadata.room metadata[floor] min_score only_relevant';
  const all = `${fields} timezone asked_at superseded track explain highlight shared`.split(' ');
  it.each([
    ...[...all, 'tag=present&tag', 'top_k=&top_k'].map((name) => `/recall?query=present&${encodeURI(name)}=`),
    `/recall?query=present&${all.map(encodeURI).join('&')}`,
    '/memories?id=&tag=&limit=&cursor=&since=&growth_at=',
    '/sessions?cursor=&tier=',
    '/session/present?cursor=&limit=&shared=',
    '/users?limit=&cursor=',
    '/consolidations?limit=&cursor=',
    '/corrections?limit=&cursor=&state=&shared=',
    '/stats?shared=',
  ])('an empty query parameter is absent: %s', async (path) => {
    const [plain = ''] = path.split(path.startsWith('/recall') ? '&' : '?', 1);
    const expected = await memoryd.ok<object>({ path: plain });
    expect(await memoryd.ok({ path })).toEqual(expected);
  });
});

describe('null in an optional field is absent:', () => {
  it('PUT /update/{memory_id} keeps the field, and clears the expiry', async () => {
    const id = await memoryd.store({
      content: 'nullable',
      tags: ['a'],
      importance: 0.4,
      metadata: { k: null },
      expires_at: '2999-01-01',
    });
    const json = { content: null, tags: null, metadata: null, expires_at: null, importance: 0.5 };
    expect((await memoryd.send({ method: 'PUT', path: `/update/${id}`, json })).status).toBe(200);
    expect(await memoryd.memory(id)).toMatchObject({
      ...{ content: 'nullable', tags: ['a'], importance: 0.5, metadata: { k: null }, expires_at: null },
    });
  });

  it.each([['/consolidate'], ['/consolidations/none/undo']])('POST %s with the body null', async (path) => {
    const { status } = await memoryd.send({ method: 'POST', path, headers: JSON_TYPE, body: 'null' });
    expect(status).toBe(path === '/consolidate' ? 200 : 404);
  });
});

describe('an unknown id returns 404:', () => {
  const ids: { row: string; id: string }[] = [
    { row: 'of 1 character', id: 'x' },
    { row: 'that is a UUID', id: '00000000-0000-7000-8000-000000000000' },
    { row: 'of 101 characters', id: 'a'.repeat(101) },
    { row: 'of 1,000 characters', id: 'b'.repeat(1000) },
    { row: 'of 8,000 characters', id: 'c'.repeat(8000) },
    { row: 'of 15,000 characters', id: 'd'.repeat(15_000) },
    { row: 'of 100,000 characters', id: 'e'.repeat(100_000) },
    { row: 'with slashes', id: encodeURIComponent('../../etc/passwd') },
    { row: 'with SQL', id: encodeURIComponent(`' OR 1=1 --`) },
    { row: 'that is an emoji', id: encodeURIComponent('👩🏽‍🚀') },
    { row: 'that is __proto__', id: '__proto__' },
    { row: 'that is a number', id: '1' },
    { row: 'that is *', id: '*' },
    { row: 'that is a LIKE pattern', id: '%25' },
    { row: 'with U+0000', id: 'a%00b' },
  ];
  const verbs: { verb: string; request: (id: string) => Request }[] = [
    { verb: 'GET /memories/{id}', request: (id) => ({ path: `/memories/${id}` }) },
    { verb: 'DELETE /forget/{id}', request: (id) => ({ method: 'DELETE', path: `/forget/${id}` }) },
    { verb: 'PUT /update/{id}', request: (id) => ({ method: 'PUT', path: `/update/${id}`, json: { content: 'x' } }) },
    { verb: 'GET /memories/{id}/history', request: (id) => ({ path: `/memories/${id}/history` }) },
    { verb: 'GET /memories/{id}/related', request: (id) => ({ path: `/memories/${id}/related` }) },
    { verb: 'POST /changes/{id}/undo', request: (id) => ({ method: 'POST', path: `/changes/${id}/undo` }) },
    { verb: 'GET /consolidations/{id}', request: (id) => ({ path: `/consolidations/${id}` }) },
    {
      verb: 'POST /consolidations/{id}/undo',
      request: (id) => ({ method: 'POST', path: `/consolidations/${id}/undo` }),
    },
    {
      verb: 'DELETE /imports/{id}',
      request: (id) => ({ method: 'DELETE', path: `/imports/${id}` }),
    },
    {
      verb: 'POST /corrections/{id}',
      request: (id) => ({ method: 'POST', path: `/corrections/${id}`, json: { accept: true } }),
    },
  ];
  const rows = verbs.flatMap(({ verb, request }) =>
    ids.map(({ row, id }) => ({ row: `${verb} ${row}`, request: request(id) })),
  );
  it.each(rows)('an unknown id returns 404: $row', async ({ request }) => {
    await expectRefused(memoryd, request, { code: 'NOT_FOUND' });
  });
});

describe('a body with a Content-Encoding', () => {
  const body = gzipSync('{"content":"compressed"}');

  it.each(['gzip', 'deflate', 'br', 'gzip, identity'])('returns 415 for %s', async (encoding) => {
    for (const path of ['/store', '/store/batch', '/import', '/imports?from=jsonl']) {
      const request = { method: 'POST', path, headers: { ...JSON_TYPE, 'content-encoding': encoding }, body };
      await expectRefused(memoryd, request, { code: 'UNSUPPORTED_MEDIA_TYPE' });
    }
  });

  it('a body with a Content-Encoding is accepted if the encoding is identity or the body is empty', async () => {
    const headers = { ...JSON_TYPE, 'content-encoding': 'Identity' };
    const stored = await memoryd.send({ method: 'POST', path: '/store', headers, body: '{"content":"plain"}' });
    expect(stored.status).toBe(200);
    const path = `/forget/${(stored.body as { id: string }).id}`;
    const gzip = { 'content-encoding': 'gzip' };
    expect((await memoryd.send({ method: 'DELETE', path, headers: gzip })).status).toBe(200);
  });
});

describe('a known path with another method returns 405:', () => {
  it.each([
    ['GET', '/store', 'POST'],
    ['PUT', '/recall', 'GET, HEAD, POST'],
    ['DELETE', '/stats', 'GET, HEAD'],
    ['POST', '/memories', 'DELETE, GET, HEAD, PATCH'],
    ['PATCH', '/update/x', 'PUT'],
    ['GET', '/forget/%2F', 'DELETE'],
    ['PUT', '/health?x=1', 'GET, HEAD'],
    ['PUT', '/mcp', 'POST'],
    ['POST', '/ui/', 'GET, HEAD'],
    ['PROPFIND', '/ui/assets/any.js', 'GET, HEAD'],
    ['POST', '/docs/static/any.css', 'GET, HEAD'],
    ['QUERY', '/redoc/any.js', 'GET, HEAD'],
  ])('a known path with another method returns 405: %s %s', async (method, path, allow) => {
    const answer = await expectRefused(memoryd, { method, path }, { code: 'METHOD_NOT_ALLOWED' });
    expect(answer.headers.allow).toBe(allow);
  });

  it('a known path with another method returns 405: every method that Node parses and /recall does not have', async () => {
    const refused = METHODS.filter((method) => !['GET', 'HEAD', 'OPTIONS', 'POST'].includes(method));
    expect(refused).toEqual(expect.arrayContaining(['CONNECT', 'QUERY', 'TRACE', 'PROPFIND', 'PATCH']));
    const answers = refused.map(async (method) => {
      const { status, headers, text } = parseRaw(
        await sendRaw(
          memoryd.server.port,
          `${method} /recall HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
        ),
      );
      return [method, status, headers.get('allow'), JSON.parse(text).error.code];
    });
    expect(await Promise.all(answers)).toEqual(
      refused.map((method) => [method, 405, 'GET, HEAD, POST', 'METHOD_NOT_ALLOWED']),
    );
  });
});

it('CONNECT to another host returns 405 with the methods of all paths', async () => {
  const request = 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n';
  const { status, headers } = parseRaw(await sendRaw(memoryd.server.port, request));
  expect([status, headers.get('allow')]).toEqual([405, 'DELETE, GET, HEAD, PATCH, POST, PUT']);
});

it('an HTTP/2 connection without TLS returns 400 with an error that names HTTP/1.1', async () => {
  const { status, text } = parseRaw(await sendRaw(memoryd.server.port, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'));
  expect([status, JSON.parse(text).error.message]).toEqual([400, 'HTTP/2 is not supported; use HTTP/1.1']);
});

it.each(['FOO', 'BREW', 'get', 'GETS'])('the method %s, which HTTP does not know, returns 400', async (method) => {
  const { status, text } = parseRaw(await sendRaw(memoryd.server.port, `${method} /stats HTTP/1.1\r\nHost: a\r\n\r\n`));
  expect([status, JSON.parse(text).error]).toMatchObject([400, { message: expect.stringContaining('unknown method') }]);
});

describe('an unknown route returns 404:', () => {
  const rows: Request[] = [
    { path: '/nothing' },
    { path: '/nothing/at/all' },
    { path: '/STORE', method: 'POST', json: { content: 'x' } },
    { path: '/forget', method: 'DELETE' },
    { path: '/update', method: 'PUT', json: { content: 'x' } },
    { path: '/session' },
    { path: '/__proto__' },
    { path: '//stats' },
    { path: '/%2e%2e/%2e%2e/etc/passwd' },
    { path: '/favicon.ico' },
    { path: `/${'long/'.repeat(500)}` },
  ];
  it.each(rows.map((request) => ({ row: toTitle(`${request.method ?? 'GET'} ${request.path}`), request })))(
    'an unknown route returns 404: $row',
    async ({ request }) => {
      await expectRefused(memoryd, request, { code: 'NOT_FOUND' });
    },
  );
});

describe('a malformed URL returns 400:', () => {
  const rows: Request[] = [
    { path: '/session/%' },
    { path: '/session/%zz' },
    { path: '/session/a%2' },
    { path: '/session/%ff' },
    { path: '/session/%C3%28' },
    { path: '/session/%ED%A0%80' },
    { path: '/memories/%E0%A4%A' },
    { path: '/forget/%', method: 'DELETE' },
    { path: '/update/%zz', method: 'PUT', json: { content: 'x' } },
    { path: '/recall?query=%' },
    { path: '/recall?query=100%' },
    { path: '/recall?query=%zz' },
    { path: '/recall?query=%ff' },
    { path: '/recall?query=%ED%A0%80' },
    { path: '/recall?query=a&tag=%C3%28' },
    { path: '/recall?query=a&%zz=b' },
    { path: '/%' },
  ];
  it.each(rows.map((request) => ({ row: `${request.method ?? 'GET'} ${request.path}`, request })))(
    'a malformed URL returns 400: $row',
    async ({ request }) => {
      await expectRefused(memoryd, request);
    },
  );
});

describe('an unusual URL', () => {
  it.each(['/recall?query=a&', '/recall?&query=a', '/recall?query=a#part', '/recall?query=a=b', '/recall?query=a%26b'])(
    'an unusual URL returns 200: %s',
    async (path) => {
      expect((await memoryd.send({ path })).status).toBe(200);
    },
  );

  it.each([
    '/recall?query[]=a',
    '/recall?query[a]=b',
    '/recall?__proto__=a&query=b',
    '/recall?query=a&metadata.=x',
    '/recall?query=a&metadata=x',
    '/recall?query=a&metadata.__proto__=x',
    '/recall?query=a&metadata.a.b.c=x',
    `/recall?query=a&metadata.${'k'.repeat(5000)}=x`,
    `/recall?query=a${Array.from({ length: 400 }, (_, n) => `&metadata.k${n}=x`).join('')}`,
    '/recall?query=a;top_k=3',
    '/session/?limit=1',
    '/session/a/b',
    '/session/a%00b',
    '/memories/',
    '/stats?colour=red',
    '/health?colour=red',
    '/metrics?a=%00',
    '/?a=b',
  ])('never causes a server error: %s', async (path) => {
    const answer = await memoryd.send({ path });
    if (answer.status !== 200) expectError(answer, { code: answer.status === 404 ? 'NOT_FOUND' : 'INVALID_REQUEST' });
  });
});

describe('raw HTTP', () => {
  const head = (lines: string[]) => `${lines.join('\r\n')}\r\n\r\n`;
  const host = 'Host: 127.0.0.1';
  const codes: string[] = Object.keys(STATUS);

  const rows: { row: string; bytes: string }[] = [
    { row: 'text that is not HTTP', bytes: 'hello there\r\n\r\n' },
    { row: 'an unknown method', bytes: head(['FETCH /stats HTTP/1.1', host, 'Connection: close']) },
    { row: 'a header without a colon', bytes: head(['GET /stats HTTP/1.1', host, 'nonsense']) },
    { row: 'a header with U+0000', bytes: head(['GET /stats HTTP/1.1', host, 'X-A: a\u0000b']) },
    { row: 'a request without Host', bytes: head(['GET /stats HTTP/1.1', 'Connection: close']) },
    {
      row: 'two Content-Length headers',
      bytes: `${head(['POST /store HTTP/1.1', host, 'Content-Length: 1', 'Content-Length: 2'])}{}`,
    },
    {
      row: 'Content-Length with Transfer-Encoding',
      bytes: `${head(['POST /store HTTP/1.1', host, 'Content-Length: 5', 'Transfer-Encoding: chunked'])}0\r\n\r\n`,
    },
    { row: 'a negative Content-Length', bytes: head(['POST /store HTTP/1.1', host, 'Content-Length: -1']) },
    {
      row: 'a Content-Length that is not a number',
      bytes: head(['POST /store HTTP/1.1', host, 'Content-Length: ten']),
    },
    {
      row: 'a chunk with an invalid size',
      bytes: `${head(['POST /store HTTP/1.1', host, 'Transfer-Encoding: chunked'])}zz\r\n{}\r\n`,
    },
    { row: 'a space in the path', bytes: head(['GET /session/a b HTTP/1.1', host]) },
    { row: 'raw UTF-8 in the path', bytes: head(['GET /session/\u00e9\u00ff HTTP/1.1', host, 'Connection: close']) },
    { row: 'headers of 4 MB', bytes: head(['GET /stats HTTP/1.1', host, `X-Long: ${'x'.repeat(4_000_000)}`]) },
    { row: 'a path of 4 MB', bytes: head([`GET /memories/${'x'.repeat(4_000_000)} HTTP/1.1`, host]) },
  ];
  it.each(rows)(
    'raw HTTP that is malformed is rejected with the common error shape, and the server keeps running: $row',
    async ({ bytes }) => {
      const answer = parseRaw(await sendRaw(memoryd.server.port, Buffer.from(bytes, 'latin1')));
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
      expect(answer.headers.get('x-request-id')).toMatch(/\S/);
      const { error } = JSON.parse(answer.text) as {
        error: { code: string; message: string; request_id: string };
      };
      expect(codes).toContain(error.code);
      expect(error.message).toMatch(/\S/);
      expect(error.request_id).toBe(answer.headers.get('x-request-id'));
      expect((await memoryd.send({ path: '/health' })).status).toBe(200);
    },
  );

  it('raw HTTP with a body shorter than its Content-Length stores nothing', async () => {
    const bytes = `${head(['POST /store HTTP/1.1', host, 'Content-Type: application/json', 'Content-Length: 100'])}{"content":"half`;
    const before = (await memoryd.memories()).total;
    await sendRaw(memoryd.server.port, bytes, 300);
    expect((await memoryd.memories()).total).toBe(before);
  });

  it('raw HTTP with two pipelined requests gets two responses', async () => {
    const one = head(['GET /stats HTTP/1.1', host]);
    const last = head(['GET /stats HTTP/1.1', host, 'Connection: close']);
    const answer = await sendRaw(memoryd.server.port, one + last);
    expect(answer.match(/HTTP\/1\.1 200/g)?.length).toBe(2);
  });

  it.each([
    { request: 'GET /stats HTTP/1.1', status: 200 },
    { request: 'POST /store HTTP/1.1', length: 'Content-Length: 9000000', status: 413 },
  ])('raw HTTP with an Upgrade header gets the usual response, and the connection is closed: $request', async (row) => {
    const bytes = head([row.request, host, row.length ?? 'Accept: */*', 'Upgrade: h2c', 'Connection: Upgrade']);
    const answer = parseRaw(await sendRaw(memoryd.server.port, bytes));
    expect([answer.status, answer.headers.get('connection')]).toEqual([row.status, 'close']);
  });
});

describe('every response has an X-Request-Id', () => {
  const requests: Request[] = [
    { path: '/' },
    { path: '/stats' },
    { path: '/health' },
    { path: '/metrics' },
    { path: '/recall?query=a' },
    { path: '/session/a' },
    { path: '/memories' },
    { path: '/sessions' },
    { path: '/openapi.json' },
    { path: '/docs' },
    { path: '/redoc' },
    { path: '/store', method: 'POST', json: { content: 'x' } },
    { path: '/consolidate', method: 'POST' },
    { path: '/store', method: 'POST', json: {} },
    { path: '/nothing' },
    { path: '/session/%' },
    { path: '/stats', headers: { host: 'evil.example' } },
    { path: '/stats', headers: { 'x-forwarded-for': '10.0.0.1' } },
    {
      path: '/store',
      method: 'OPTIONS',
      headers: { origin: 'http://a.example', 'access-control-request-method': 'POST' },
    },
    { path: '/stats', method: 'HEAD' },
  ];
  it.each(
    requests.map((request) => ({
      row: `${request.method ?? 'GET'} ${request.path} ${Object.keys(request.headers ?? {})}`,
      request,
    })),
  )('every response has an X-Request-Id $row', async ({ request }) => {
    expect((await memoryd.send(request)).headers['x-request-id']).toMatch(/^[\x21-\x7e]+$/);
  });

  it('every response has an X-Request-Id that is unique', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => memoryd.send({ path: '/stats' })));
    expect(new Set(answers.map((answer) => answer.headers['x-request-id'])).size).toBe(50);
  });
});
