import { renameSync } from 'node:fs';
import type { StoreBatchResponse, StoreBatchResult, StoreRequest } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import { ON_FILE } from './databases.ts';
import type { Answer } from './http.ts';
import { eventually } from './process.ts';
import { expectError } from './refusal.ts';
import { type Client, expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';

const MEBIBYTE = 1024 * 1024;
const MAX_ITEMS = 10_000;

interface BatchOptions {
  key?: string;
  type?: string;
}

function sendBody(client: Client, body: string | Uint8Array, { key, type = 'application/json' }: BatchOptions = {}) {
  const headers = { 'content-type': type, ...(key !== undefined && { 'idempotency-key': key }) };
  return client.send<StoreBatchResponse>({ method: 'POST', path: '/store/batch', headers, body });
}

/** Sends a batch and expects a 200; single memories of it may fail. */
async function storeBatch(client: Client, items: unknown[], options: BatchOptions = {}): Promise<StoreBatchResponse> {
  return expectAccepted(await sendBody(client, JSON.stringify(items), options));
}

function expectAccepted(answer: Answer<StoreBatchResponse>): StoreBatchResponse {
  expect(answer.status, answer.text.slice(0, 400)).toBe(200);
  return answer.body;
}

const createMemories = (count: number, text = 'numbered'): StoreRequest[] =>
  Array.from({ length: count }, (_, n) => ({ content: `${text} ${n}` }));

const getId = (result: StoreBatchResult | undefined): string => (result && 'id' in result ? result.id : '');
const getIds = ({ results }: StoreBatchResponse): string[] => results.map(getId);
const getError = (result: StoreBatchResult | undefined) => (result && 'error' in result ? result.error : undefined);

const memoryd = useServer({ env: WORDS_ONLY });
const total = async () => (await memoryd.memories('limit=1')).total;

describe('POST /store/batch', () => {
  it('stores every memory and returns the results in order', async () => {
    const before = await total();
    const answer = await storeBatch(memoryd, createMemories(700, 'ordered'));
    expect(Object.keys(answer).sort()).toEqual(['failed_count', 'results', 'stored_count']);
    expect([answer.results.length, answer.stored_count, answer.failed_count]).toEqual([700, 700, 0]);
    expect(answer.results[0]).toEqual({ id: expect.stringMatching(/^\S+$/), status: 'stored' });
    const ids = getIds(answer);
    expect(new Set(ids).size).toBe(700);
    expect(await total()).toBe(before + 700);
    for (const n of [0, 255, 256, 699]) {
      expect((await memoryd.memory(ids[n] ?? '')).content).toBe(`ordered ${n}`);
    }
  });

  it('stores every field as POST /store does', async () => {
    const corrected = await memoryd.store({ content: 'to be corrected' });
    const full = {
      content: '  Zoë’s “naïve” 文字 😀\r\n\ttrailing  ',
      tags: ['b', 'a'],
      importance: 0.25,
      source: 'chat',
      session_id: 'a/b?c',
      created_at: '2020-01-31T09:30:00.000Z',
      expires_at: '2999-01-01T00:00:00.000Z',
      metadata: { nested: { list: [1, null, 'x'] }, flag: true },
      supersedes: corrected,
    };
    const [id = ''] = getIds(await storeBatch(memoryd, [full]));
    expect(await memoryd.memory(id)).toMatchObject(full);
    expect((await memoryd.memory(corrected)).superseded_by).toBe(id);
    const [plain = ''] = getIds(await storeBatch(memoryd, [{ content: 'only a text' }]));
    expect(await memoryd.memory(plain)).toMatchObject({ tags: [], importance: 0.5, source: 'api' });
  });

  it('makes the memories recallable by their words immediately', async () => {
    const answer = await storeBatch(memoryd, [...createMemories(20), { content: 'a solitary quokka' }]);
    expect(await memoryd.recalled('quokka')).toEqual([getId(answer.results[20])]);
  });

  it('returns no results for an empty batch', async () => {
    const nothing = { results: [], stored_count: 0, failed_count: 0 };
    expect(await storeBatch(memoryd, [])).toEqual(nothing);
    for (const lines of ['', '\n']) {
      expect(expectAccepted(await sendBody(memoryd, lines, { type: 'application/x-ndjson' }))).toEqual(nothing);
    }
    expectError(await sendBody(memoryd, ''));
  });

  it('stores two memories for the same text', async () => {
    const ids = getIds(await storeBatch(memoryd, [{ content: 'twice told' }, { content: 'twice told' }]));
    expect(new Set(ids).size).toBe(2);
  });
});

describe('an invalid memory in a batch', () => {
  const wrong: { row: string; item: unknown; code?: string; path: string; reason: string }[] = [
    { row: 'with a tag that is not a string', item: { content: 'x', tags: [7] }, path: '/1/tags/0', reason: 'tags' },
    { row: 'without content', item: {}, path: '/1/content', reason: 'content is required' },
    { row: 'with an unknown field', item: { content: 'x', colour: 'red' }, path: '/1/colour', reason: 'colour' },
    { row: 'that is a string', item: 'content', path: '/1', reason: 'JSON object' },
    { row: 'that is null', item: null, path: '/1', reason: 'JSON object' },
    { row: 'that is an array', item: [{ content: 'x' }], path: '/1', reason: 'JSON object' },
    { row: 'with U+0000', item: { content: 'a\0b' }, path: '/1/content', reason: 'U+0000' },
    {
      row: 'with a time after the year 9999',
      item: { content: 'x', created_at: '9999-12-31T23:59:59-01:00' },
      path: '/1/created_at',
      reason: 'created_at',
    },
    {
      row: 'that supersedes an unknown memory',
      item: { content: 'x', supersedes: 'nobody' },
      code: 'NOT_FOUND',
      path: '/1/supersedes',
      reason: 'id',
    },
  ];
  it.each(wrong)(
    '$row does not affect the other memories',
    async ({ item, code = 'INVALID_REQUEST', path, reason }) => {
      const before = await total();
      const answer = await storeBatch(memoryd, [{ content: 'before' }, item, { content: 'after' }]);
      expect([answer.stored_count, answer.failed_count]).toEqual([2, 1]);
      const error = getError(answer.results[1]);
      expect(Object.keys(error ?? {}).sort()).toEqual(['code', 'details', 'message']);
      expect(error).toMatchObject({ code, message: expect.stringContaining(reason) });
      expect(error?.details?.map((detail) => detail.path)).toEqual([path]);
      expect((await memoryd.memory(getId(answer.results[2]))).content).toBe('after');
      expect(await total()).toBe(before + 2);
    },
  );

  it.each(['application/json', 'application/x-ndjson'])(
    'an invalid memory in a batch with content above the size limit does not affect the other memories, with the content type %s',
    async (type) => {
      const before = await total();
      const contents = ['before', 'é'.repeat(MEBIBYTE / 2 + 1), 'after'];
      const items = contents.map((content) => JSON.stringify({ content }));
      const body = type === 'application/json' ? `[${items}]` : items.join('\n');
      const answer = expectAccepted(await sendBody(memoryd, body, { type }));
      expect([answer.stored_count, answer.failed_count]).toEqual([2, 1]);
      expect(getError(answer.results[1])).toMatchObject({
        code: 'PAYLOAD_TOO_LARGE',
        details: [{ path: '/1/content' }],
      });
      expect((await memoryd.memory(getId(answer.results[2]))).content).toBe('after');
      expect(await total()).toBe(before + 2);
    },
  );

  it('an invalid memory in a batch is identified by its index in a long batch', async () => {
    const items: unknown[] = createMemories(600);
    items[555] = { content: '' };
    const answer = await storeBatch(memoryd, items);
    expect([answer.stored_count, answer.failed_count]).toEqual([599, 1]);
    expect(getError(answer.results[555])?.details?.[0]?.path).toBe('/555/content');
  });
});

describe('an invalid batch', () => {
  const bodies: { row: string; body: string }[] = [
    { row: 'an object', body: '{"content":"x"}' },
    { row: 'a string', body: '"content"' },
    { row: 'malformed JSON', body: '[{"content":"x"},' },
    { row: 'empty', body: '' },
    { row: 'more than 10,000 memories', body: JSON.stringify(createMemories(MAX_ITEMS + 1)) },
  ];
  it.each(bodies)('an invalid batch that is $row is rejected and stores nothing', async ({ body }) => {
    const before = await total();
    expectError(await sendBody(memoryd, body));
    expect(await total()).toBe(before);
  });

  it('larger than 16 MiB is rejected and stores nothing', async () => {
    const before = await total();
    const body = JSON.stringify(Array.from({ length: 17 }, () => ({ content: 'x'.repeat(MEBIBYTE) })));
    expectError(await sendBody(memoryd, body), { code: 'PAYLOAD_TOO_LARGE' });
    expect(await total()).toBe(before);
  });

  it('larger than SERVICE_MAX_BATCH_BODY_BYTES is rejected', async () => {
    const client = await startClient({ env: { ...WORDS_ONLY, SERVICE_MAX_BATCH_BODY_BYTES: '2000' } });
    const sized = (bytes: number) => JSON.stringify([{ content: 'x'.repeat(bytes - '[{"content":""}]'.length) }]);
    expect(expectAccepted(await sendBody(client, sized(2000))).stored_count).toBe(1);
    const answer = await sendBody(client, sized(2001));
    expectError(answer, { code: 'PAYLOAD_TOO_LARGE' });
    expect(answer.text).toMatch(/2000 bytes; raise the limit with SERVICE_MAX_BATCH_BODY_BYTES/);
    await expectCleanEnd(client.server);
  });
});

describe('a batch of 10,000 memories', () => {
  it('a batch of 10,000 memories is stored', async () => {
    const before = await total();
    const answer = await storeBatch(memoryd, createMemories(MAX_ITEMS));
    expect([answer.stored_count, answer.failed_count]).toEqual([MAX_ITEMS, 0]);
    expect(await total()).toBe(before + MAX_ITEMS);
  });
});

describe('a batch of JSON Lines', () => {
  const lines = (...texts: string[]) => texts.join('\n');

  it.each(['application/x-ndjson', 'application/ndjson', 'application/jsonl', 'Application/X-NDJSON; charset=utf-8'])(
    'a batch of JSON Lines is accepted with the content type %s',
    async (type) => {
      const answer = expectAccepted(await sendBody(memoryd, lines('{"content":"a"}', '{"content":"b"}'), { type }));
      expect(answer.stored_count).toBe(2);
    },
  );

  const type = 'application/x-ndjson';

  it('a batch of JSON Lines may mix line endings and contain empty lines', async () => {
    const body = '\ufeff{"content":"first"}\r\n\n{"content":"second"}\n\r\n{"content":"third"}\n';
    const ids = getIds(expectAccepted(await sendBody(memoryd, body, { type })));
    const texts = await Promise.all(ids.map(async (id) => (await memoryd.memory(id)).content));
    expect(texts).toEqual(['first', 'second', 'third']);
  });

  it('fails only for lines that are not JSON objects in UTF-8', async () => {
    const bytes = Buffer.concat([
      Buffer.from(lines('{"content":"before"}', '{"content":', '')),
      Buffer.from([0x22, 0xff, 0x22]),
      Buffer.from(lines('', '[{"content":"a list"}]', '{"content":"after"}')),
    ]);
    const answer = expectAccepted(await sendBody(memoryd, bytes, { type }));
    expect(answer.results.map((result) => 'id' in result)).toEqual([true, false, false, false, true]);
    for (const index of [1, 2, 3]) {
      expect(getError(answer.results[index])).toMatchObject({
        code: 'INVALID_REQUEST',
        details: [{ path: `/${index}` }],
      });
    }
  });

  it('a batch of JSON Lines is rejected with another content type', async () => {
    expectError(await sendBody(memoryd, lines('{"content":"a"}', '{"content":"b"}'), { type: 'text/plain' }));
    expect(expectAccepted(await sendBody(memoryd, '[{"content":"a"}]', { type: 'text/plain' })).stored_count).toBe(1);
  });

  it.each([
    { row: 'memories', line: '{"content":"x"}\n' },
    { row: 'empty lines', line: '\n' },
  ])('a batch of JSON Lines of more than 10,000 $row is rejected and stores nothing', async ({ line }) => {
    const before = await total();
    expectError(await sendBody(memoryd, line.repeat(MAX_ITEMS + 1), { type }));
    expect(await total()).toBe(before);
    expect(expectAccepted(await sendBody(memoryd, line.repeat(10), { type })).failed_count).toBe(0);
  });
});

describe('POST /store/batch with Idempotency-Key', () => {
  it('returns the same ids for the same batch, and stores nothing', async () => {
    const items = createMemories(300, 'sent twice');
    const first = await storeBatch(memoryd, items, { key: 'whole' });
    const before = await total();
    expect(await storeBatch(memoryd, items, { key: 'whole' })).toEqual(first);
    expect(await total()).toBe(before);
  });

  it('stores a corrected memory that was invalid the first time', async () => {
    const first = await storeBatch(memoryd, [{ content: 'right' }, { content: '' }], { key: 'mended' });
    const second = await storeBatch(memoryd, [{ content: 'right' }, { content: 'mended' }], { key: 'mended' });
    expect([first.stored_count, second.stored_count]).toEqual([1, 2]);
    expect(getId(second.results[0])).toBe(getId(first.results[0]));
  });

  it('rejects only the memories that differ from the first batch at the same index', async () => {
    const first = await storeBatch(memoryd, createMemories(3, 'stored'), { key: 'changed' });
    const before = await total();
    const changed = [
      { content: 'stored 0' },
      { content: 'another text' },
      { content: 'stored 2' },
      { content: 'more' },
    ];
    const second = await storeBatch(memoryd, changed, { key: 'changed' });
    expect(getError(second.results[1])?.code).toBe('CONFLICT');
    expect([0, 2].map((index) => getId(second.results[index]))).toEqual(
      [0, 2].map((index) => getId(first.results[index])),
    );
    expect([second.stored_count, second.failed_count]).toEqual([3, 1]);
    expect(await total()).toBe(before + 1);
  });

  it('stores a memory even if POST /store has received the same key', async () => {
    await memoryd.store({ content: 'shared' }, { 'idempotency-key': 'shared' });
    const answer = await storeBatch(memoryd, [{ content: 'something else' }], { key: 'shared' });
    expect(answer.stored_count).toBe(1);
  });

  it.each([
    { row: 'an empty key', key: '' },
    { row: 'a key of 256 characters', key: 'k'.repeat(256) },
  ])('POST /store/batch with Idempotency-Key rejects $row', async ({ key }) => {
    expectError(await sendBody(memoryd, '[{"content":"rejected"}]', { key }));
  });
});

describe('a batch whose writes to the database fail', () => {
  it.runIf(ON_FILE)('returns UNAVAILABLE for each valid memory, and logs one warning per chunk', async () => {
    const client = await startClient({ env: WORDS_ONLY });
    const { dbPath } = client.server;
    expect((await storeBatch(client, createMemories(2))).stored_count).toBe(2);
    renameSync(dbPath, `${dbPath}-away`);
    const answer = await storeBatch(client, [...createMemories(300), { content: '' }]);
    expect([answer.results.length, answer.stored_count, answer.failed_count]).toEqual([301, 0, 301]);
    expect(new Set(answer.results.map((result) => getError(result)?.code))).toEqual(
      new Set(['UNAVAILABLE', 'INVALID_REQUEST']),
    );
    const records = await eventually('the log records', 20_000, () => {
      const found = client.server.records().filter(({ event }) => event === 'chunk_not_stored');
      return found.length >= 2 ? found : undefined;
    });
    expect(records.map(({ level, memories }) => [level, memories])).toEqual([
      ['WARN', 256],
      ['WARN', 44],
    ]);
    renameSync(`${dbPath}-away`, dbPath);
    expect((await storeBatch(client, createMemories(2))).stored_count).toBe(2);
    await expectCleanEnd(client.server);
  });
});
