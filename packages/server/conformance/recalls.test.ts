import type { ContextResponse, RecallsResponse } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import { expectError } from './refusal.ts';
import { useServer, WORDS_ONLY } from './under-test.ts';

describe('GET /recalls', () => {
  const memoryd = useServer({ env: WORDS_ONLY });
  const getRecalls = (query = '') => memoryd.get<RecallsResponse>(`/recalls${query}`);
  const getQueries = async (query = '') => (await getRecalls(query)).recalls.map((recall) => recall.query);

  it('lists recalls and contexts with the memories that they returned, newest first, page by page', async () => {
    const [id] = await memoryd.storeInOrder([{ content: 'The lighthouse keeper is called Ingrid', user_id: 'page' }]);
    const { results } = await memoryd.recall('lighthouse keeper', 'user_id=page');
    await memoryd.ok<ContextResponse>({
      ...{ method: 'POST', path: '/context' },
      json: { query: 'the keeper of the lighthouse', user_id: 'page', session_id: 'chat' },
    });
    const { recalls, ...rest } = await getRecalls('?user_id=page');
    expect(rest).toEqual({ total: 2, is_remembered: true });
    const score = results[0]?.score;
    const fields = { id: expect.any(String), at: expect.any(String), user_id: 'page', count: 1 };
    expect(recalls).toEqual([
      {
        ...{ ...fields, kind: 'context', query: 'the keeper of the lighthouse', session_id: 'chat' },
        results: [{ memory_id: id, score: expect.any(Number) }],
      },
      { ...fields, kind: 'recall', query: 'lighthouse keeper', results: [{ memory_id: id, score }] },
    ]);
    const first = await getRecalls('?user_id=page&limit=1');
    expect(first.recalls).toEqual([recalls[0]]);
    const second = await getRecalls(`?user_id=page&limit=1&cursor=${encodeURIComponent(first.next_cursor ?? '')}`);
    expect(second).toEqual({ recalls: [recalls[1]], total: 2, is_remembered: true });
  });

  it('lists only recalls that returned a memory, and not those with track=false', async () => {
    const [id] = await memoryd.storeInOrder([
      { content: 'The spare key is under the blue pot', user_id: 'pot' },
      { content: 'Bees sleep in winter', user_id: 'pot' },
    ]);
    for (const query of ['blue pot', 'bees']) await memoryd.recall(query, 'user_id=pot&only_relevant=true');
    await memoryd.recall('blue', 'user_id=pot&track=false');
    expect(await getQueries('?user_id=pot')).toEqual(['bees', 'blue pot']);
    expect(await getQueries(`?memory_id=${id}`)).toEqual(['blue pot']);
  });

  it('finds a recall by each of its results, also by those that it does not list', async () => {
    const notes = Array.from({ length: 300 }, (_, i) => ({ content: `A heron is on page ${i}`, user_id: 'many' }));
    const ids = await memoryd.storeAll(notes);
    const recalled = await memoryd.recalled('heron', 'user_id=many&top_k=1000');
    expect([...recalled].sort()).toEqual([...ids].sort());
    for (const id of [recalled[0], recalled[255], recalled[256], recalled[299]]) {
      const { recalls, total } = await getRecalls(`?memory_id=${id}`);
      expect([total, recalls[0]?.query, recalls[0]?.count, recalls[0]?.results.length]).toEqual([1, 'heron', 300, 256]);
    }
  });

  it('lists a recall under its user only, and one over all users under none, also with shared', async () => {
    const [his] = await memoryd.storeInOrder([{ content: 'A walrus lives in the cellar', user_id: 'leak-ben' }]);
    await memoryd.recall('walrus of ben', 'user_id=leak-ben');
    await memoryd.recall('walrus of anybody');
    await memoryd.recall('walrus of ada', 'user_id=leak-ada&shared=true');
    expect(await getQueries('?user_id=leak-ada')).toEqual(['walrus of ada']);
    expect(await getQueries('?user_id=leak-ada&shared=true')).toEqual(['walrus of ada']);
    expect(await getRecalls(`?user_id=leak-ada&shared=true&memory_id=${his}`)).toMatchObject({ recalls: [], total: 0 });
    expect(await getQueries(`?memory_id=${his}`)).toEqual(['walrus of anybody', 'walrus of ben']);
  });

  it('leaves out a memory once it is forgotten', async () => {
    const [id] = await memoryd.storeInOrder([{ content: 'The piano was tuned in May', user_id: 'piano' }]);
    await memoryd.recall('piano', 'user_id=piano');
    await memoryd.forget(id as string);
    const { recalls } = await getRecalls('?user_id=piano');
    expect(recalls).toMatchObject([{ query: 'piano', results: [], count: 1 }]);
    expect(await getRecalls(`?memory_id=${id}`)).toMatchObject({ recalls: [], total: 0 });
  });

  it('forgets the recalls of a user when all of their memories are forgotten, and no others', async () => {
    await memoryd.storeInOrder(['gone', 'stays'].map((user_id) => ({ content: `I am ${user_id}`, user_id })));
    for (const user of ['gone', 'stays']) await memoryd.recall(`am I ${user}`, `user_id=${user}`);
    await memoryd.forgetMany('user_id=gone&tag=none');
    expect(await getQueries('?user_id=gone')).toEqual(['am I gone']);
    await memoryd.forgetMany('user_id=gone');
    expect(await getRecalls('?user_id=gone')).toMatchObject({ recalls: [], total: 0 });
    expect(await getQueries('?user_id=stays')).toEqual(['am I stays']);
    expect(JSON.stringify(await getRecalls())).not.toContain('am I gone');
  });

  it('forgets the recalls of a user also if the request names shared memories or an empty filter', async () => {
    for (const [i, also] of ['shared=true', 'shared=false', 'filter=%7B%7D'].entries()) {
      const user_id = `also-${i}`;
      await memoryd.recall('what do you know of me', `user_id=${user_id}`);
      await memoryd.forgetMany(`user_id=${user_id}&${also}`);
      expect(await getQueries(`?user_id=${user_id}`)).toEqual([]);
    }
  });

  it('rejects a cursor of a request with another user', async () => {
    for (const query of ['one', 'two']) await memoryd.recall(query, 'user_id=cursor');
    const { next_cursor = '' } = await getRecalls('?user_id=cursor&limit=1');
    const other = await memoryd.send({ path: `/recalls?user_id=other&cursor=${encodeURIComponent(next_cursor)}` });
    expectError(other, { field: 'cursor' });
  });
});

describe('GET /recalls without logged queries', () => {
  const memoryd = useServer({ env: { ...WORDS_ONLY, SERVICE_LOG_QUERIES: 'false' } });

  it('remembers no recall', async () => {
    await memoryd.recall('anything');
    expect(await memoryd.get('/recalls')).toEqual({ recalls: [], total: 0, is_remembered: false });
  });
});
