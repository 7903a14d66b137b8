import type { FilterExpression, MemoriesResponse, RecallResponse, SessionsResponse } from '@memoryd/contract';
import { FILTERED_MEMORIES, FILTERS } from '@memoryd/suites';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectRefused } from './refusal.ts';
import { useServer, WORDS_ONLY } from './under-test.ts';

const CREATED_AT = '2025-01-01T00:00:00Z';

const toPath = (path: string, filter: unknown) =>
  `${path}${path.includes('?') ? '&' : '?'}filter=${encodeURIComponent(JSON.stringify(filter))}`;

describe('filters over HTTP', () => {
  const memoryd = useServer({ env: WORDS_ONLY });
  const names = new Map<string, string>();

  beforeAll(async () => {
    const ids = await memoryd.storeInOrder(
      FILTERED_MEMORIES.map(({ name, created_at = CREATED_AT, ...fields }) => ({
        ...fields,
        content: `needle ${name}`,
        created_at,
      })),
    );
    for (const [i, id] of ids.entries()) names.set(id, FILTERED_MEMORIES[i]?.name ?? '');
  });

  const toNames = (memories: readonly { id: string }[]) => memories.map(({ id }) => names.get(id)).sort();
  const recallByBody = async (fields: object) => {
    const body = { query: 'needle', top_k: 100, ...fields };
    return toNames((await memoryd.ok<RecallResponse>({ method: 'POST', path: '/recall', json: body })).results);
  };

  it('every filter of the table selects its memories in GET /recall, POST /recall and GET /memories', async () => {
    const readers = {
      'GET /recall': async (filter: FilterExpression) =>
        toNames((await memoryd.get<RecallResponse>(toPath('/recall?query=needle&top_k=100', filter))).results),
      'POST /recall': (filter: FilterExpression) => recallByBody({ filter }),
      'GET /memories': async (filter: FilterExpression) =>
        toNames((await memoryd.get<MemoriesResponse>(toPath('/memories', filter))).memories),
    };
    for (const [reader, read] of Object.entries(readers)) {
      const answers: Record<string, unknown> = {};
      for (const [filter] of FILTERS) answers[JSON.stringify(filter)] = await read(filter);
      const expected = Object.fromEntries(
        FILTERS.map(([filter, matches]) => [JSON.stringify(filter), [...matches].sort()]),
      );
      expect(answers, reader).toEqual(expected);
    }
  });

  it('a transcript, the list of sessions and an export accept a filter', async () => {
    const filter = { 'metadata.v': { $gte: 9.5 } };
    const matches = ['largest', 'less', 'ten'];
    const { memories, total } = await memoryd.get<MemoriesResponse>(toPath('/session/default', filter));
    expect([toNames(memories), total]).toEqual([matches, 3]);
    const { sessions } = await memoryd.get<SessionsResponse>(toPath('/sessions', filter));
    expect(sessions).toMatchObject([{ session_id: 'default', total: 3 }]);
    const { text } = await memoryd.send({ path: toPath('/export', filter) });
    const [header, ...lines] = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(header).toMatchObject({ lines: 3 });
    expect(toNames(lines)).toEqual(matches);
  });

  it('a cursor is refused with another filter', async () => {
    const page = await memoryd.get<MemoriesResponse>(
      toPath('/memories?limit=1', { 'metadata.a.b': { $exists: false } }),
    );
    const cursor = encodeURIComponent(page.next_cursor ?? '');
    const same = await memoryd.send({
      path: toPath(`/memories?cursor=${cursor}`, { 'metadata.a.b': { $exists: false } }),
    });
    expect(same.status).toBe(200);
    const path = toPath(`/memories?cursor=${cursor}`, { 'metadata.b.a': { $exists: false } });
    await expectRefused(memoryd, { path }, { field: 'cursor' });
  });

  it('metadata.KEY=v and metadata[KEY]=v mean the same, and a dot is part of the key', async () => {
    for (const name of ['metadata.e.f', 'metadata[e.f]']) {
      const { memories } = await memoryd.get<MemoriesResponse>(`/memories?${encodeURIComponent(name)}=3`);
      expect(toNames(memories)).toEqual(['odd']);
    }
    const { memories } = await memoryd.get<MemoriesResponse>('/memories?metadata.v.amount=10');
    expect(memories).toEqual([]);
  });

  it('POST /recall takes the fields of GET /recall, and null in a field means that the field is absent', async () => {
    const nulls = { tier: null, filter: null, min_score: null, explain: null, metadata: null };
    expect(await recallByBody({ ...nulls, tag: ['a'], source: 'mail', since: '2024-01-01' })).toEqual(['ten']);
    const body = { query: 'needle', tag: ['a'], explain: true, highlight: true };
    const { results } = await memoryd.ok<RecallResponse>({ method: 'POST', path: '/recall', json: body });
    const { results: same } = await memoryd.get<RecallResponse>(
      '/recall?query=needle&tag=a&explain=true&highlight=true',
    );
    expect(results).toEqual(same);
  });

  it('an empty filter matches every memory', async () => {
    expect(await recallByBody({ filter: {} })).toHaveLength(FILTERED_MEMORIES.length);
  });

  const deep = (depth: number): object => (depth === 0 ? { tag: 'a' } : { $not: deep(depth - 1) });
  it.each<[filter: unknown, message: string]>([
    [[], 'filter must be a JSON object'],
    ['tag', 'filter must be a JSON object'],
    [{ tga: 'a' }, 'filter.tga must be a field of a filter or $and, $or or $not; the nearest is tag'],
    [{ $or: [{ tag: 'a' }, { sorce: 'a' }] }, 'filter.$or.1.sorce must be a field'],
    [{ user_id: 'ada' }, 'filter.user_id must be a field'],
    [{ metadata: { v: 1 } }, 'filter.metadata must be followed by a path'],
    [{ 'metadata.': 1 }, 'filter.metadata. must have a name between all dots'],
    [{ 'metadata.a..b': 1 }, 'must have a name between all dots'],
    [{ 'metadata.v': { $get: 1 } }, 'filter.metadata.v.$get must be an operator; the nearest is $gt'],
    [{ 'metadata.v': { gte: 1 } }, 'must be an operator; the nearest is $gte'],
    [{ $nor: [{ tag: 'a' }] }, 'must be a field of a filter or $and, $or or $not; the nearest is $or'],
    [{ $or: [] }, 'filter.$or must be an array of at least one filter'],
    [{ $and: { tag: 'a' } }, 'filter.$and must be an array of at least one filter'],
    [{ $or: [{}] }, 'filter.$or.0 must have at least one condition'],
    [{ tag: {} }, 'filter.tag must have at least one condition'],
    [{ tag: 7 }, 'filter.tag must be a string'],
    [{ tag: { $in: [] } }, 'filter.tag.$in must be an array of at least one value'],
    [{ source: { $in: ['a', 7] } }, 'filter.source.$in.1 must be a string'],
    [{ 'metadata.v': [1] }, 'filter.metadata.v must be a string, a number, true, false or null; use $contains'],
    [{ 'metadata.v': { $gt: true } }, 'filter.metadata.v.$gt must be a number or a string'],
    [{ 'metadata.v': { $exists: 1 } }, 'filter.metadata.v.$exists must be true or false'],
    [{ 'metadata.v': { $prefix: 1 } }, 'filter.metadata.v.$prefix must be a string'],
    [{ 'metadata.v': 2 ** 53 }, 'filter.metadata.v must be an integer from'],
    [{ 'metadata.v': 'a\0' }, 'filter must not contain U+0000'],
    [{ importance: '0.5' }, 'filter.importance must be a number'],
    [{ importance: { $prefix: '0' } }, 'filter.importance.$prefix must not be used'],
    [{ source: { $contains: 'a' } }, 'filter.source.$contains must not be used'],
    [{ created_at: { $gt: 'yesterday' } }, 'filter.created_at.$gt must be an ISO 8601 date'],
    [{ created_at: { $gt: '2025-02-30' } }, 'filter.created_at.$gt must be an ISO 8601 date'],
    [{ $and: Array(65).fill({ tag: 'a' }) }, 'filter must be a JSON object of at most 64 conditions'],
    [deep(6), 'at most 64 conditions, 6 levels'],
    [{ 'metadata.v': { $in: ['é'.repeat(4100)] } }, '8192 bytes'],
    [{ 'metadata.v': JSON.parse(`${'['.repeat(2000)}${']'.repeat(2000)}`) }, 'filter.metadata.v must be a string'],
  ])('the filter %j is refused, naming the place and the rule', async (filter, message) => {
    const body = { query: 'needle', filter };
    const answer = await expectRefused<{ error: { message: string } }>(
      memoryd,
      { method: 'POST', path: '/recall', json: body },
      { field: 'filter' },
    );
    expect(answer.body.error.message).toContain(message);
    if (!answer.text.includes('U+0000'))
      await expectRefused(memoryd, { path: toPath('/recall?query=a', filter) }, { field: 'filter' });
  });

  it('the largest filters are accepted', async () => {
    expect(await recallByBody({ filter: { $and: Array(64).fill({ tag: 'a' }) } })).toEqual(['less', 'ten']);
    expect(await recallByBody({ filter: deep(4) })).toEqual(['less', 'ten']);
    expect(await recallByBody({ filter: { 'metadata.v': { $in: ['10', ...Array(2000).fill('a')] } } })).toEqual([
      'text',
    ]);
    const numbers = Array.from({ length: 2000 }, (_, i) => i / 10 + 200).map((n) => Math.round(n));
    expect(await recallByBody({ filter: { 'metadata.v': { $in: [...numbers.slice(0, 1900), 10] } } })).toEqual(['ten']);
  });

  it.each(['{"tag": "a"', 'tag', '%7B'])('the text %j in a URL is refused as a filter', async (text) => {
    await expectRefused(memoryd, { path: `/memories?filter=${encodeURIComponent(text)}` }, { field: 'filter' });
  });

  it.each([
    toPath('/memories', { tga: 'a' }),
    toPath('/memories', {}),
    toPath('/memories?tag=a', { source: { $ni: ['a'] } }),
    '/memories?filter=',
    `/memories?filter=${encodeURIComponent('{"tag":"a"}{')}`,
  ])('DELETE %s forgets nothing', async (path) => {
    await expectRefused(memoryd, { method: 'DELETE', path });
  });

  it.each<[body: unknown, field: string | undefined]>([
    [{}, 'query'],
    [undefined, undefined],
    [{ query: 7 }, 'query'],
    [{ query: 'a', top_k: '5' }, 'top_k'],
    [{ query: 'a', tag: 'a' }, 'tag'],
    [{ query: 'a', colour: 'red' }, 'colour'],
    [{ query: 'a', user_id: null }, 'user_id'],
    [[{ query: 'a' }], undefined],
  ])('POST /recall refuses the body %j', async (body, field) => {
    await expectRefused(memoryd, { method: 'POST', path: '/recall', json: body }, field === undefined ? {} : { field });
  });

  it('POST /recall refuses parameters in the URL', async () => {
    await expectRefused(memoryd, { method: 'POST', path: '/recall?query=a', json: { query: 'a' } }, { field: 'query' });
  });
});

describe('forgetting by a filter', () => {
  const memoryd = useServer({ env: WORDS_ONLY });

  it('DELETE /memories forgets the memories that match a filter, and no other', async () => {
    const amounts = [50, 100, 150];
    const ids = await memoryd.storeInOrder(
      amounts.map((amount) => ({ content: `invoice of ${amount}`, metadata: { price: { amount } } })),
    );
    const path = toPath('/memories', { 'metadata.price.amount': { $gte: 100 } });
    const { forgotten_count } = await memoryd.ok<{ forgotten_count: number }>({ method: 'DELETE', path });
    expect(forgotten_count).toBe(2);
    const { memories } = await memoryd.get<MemoriesResponse>('/memories');
    expect(memories.map(({ id }) => id)).toEqual(ids.slice(0, 1));
  });
});
