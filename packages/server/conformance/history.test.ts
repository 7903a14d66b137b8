import type { HistoryResponse } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import { expectRefusal } from './refusal.ts';
import { useServer, WORDS_ONLY } from './under-test.ts';

const memoryd = useServer({ env: WORDS_ONLY });

const history = (id: string, parameters = '') => memoryd.get<HistoryResponse>(`/memories/${id}/history?${parameters}`);
const earlier = (time: string) => `as_of=${encodeURIComponent(time)}`;
const textAt = async (id: string, time: string) => (await history(id, earlier(time))).texts[0]?.content;

describe('GET /memories/{id}/history', () => {
  it('tells every text with the times during which it held, the present one last', async () => {
    const id = await memoryd.store({ content: 'first' });
    for (const content of ['second', 'third']) await memoryd.update(id, { content });
    const { texts, total, ...rest } = await history(id);
    expect(rest).toEqual({ id });
    expect(total).toBe(3);
    expect(texts.map(({ content }) => content)).toEqual(['first', 'second', 'third']);
    expect(texts.at(-1)?.held_until).toBeNull();
    const [first, second, third] = texts;
    expect([first?.held_until, second?.held_until]).toEqual([second?.held_from, third?.held_from]);
    expect(Date.parse(first?.held_from ?? '')).toBeLessThanOrEqual(Date.parse(first?.held_until ?? ''));
  });

  it('of a memory whose text never changed is that text, however often the rest was written', async () => {
    const id = await memoryd.store({ content: ' the only\ntext ' });
    await memoryd.update(id, { importance: 1, tags: ['a'], content: ' the only\ntext ' });
    const { texts } = await history(id);
    expect(texts).toMatchObject([{ content: ' the only\ntext ', held_until: null }]);
  });

  it('counts from the time of storing, whatever created_at says', async () => {
    const before = Date.now();
    const id = await memoryd.store({ content: 'back-filled', created_at: '2001-01-01T00:00:00Z' });
    expect(Date.parse((await history(id)).texts[0]?.held_from ?? '')).toBeGreaterThanOrEqual(before);
    expectRefusal(await memoryd.send({ path: `/memories/${id}/history?${earlier('2002-01-01T00:00:00Z')}` }), {
      code: 'NOT_FOUND',
    });
  });

  it('with as_of tells the text of that time alone', async () => {
    const id = await memoryd.store({ content: 'first' });
    await memoryd.update(id, { content: 'second' });
    const [first] = (await history(id)).texts;
    const replaced = first?.held_until ?? '';
    const justBefore = new Date(Date.parse(replaced) - 1).toISOString();
    expect(await textAt(id, replaced)).toBe('second');
    if (justBefore >= (first?.held_from ?? '')) expect(await textAt(id, justBefore)).toBe('first');
    expect(await textAt(id, '9999-01-01T00:00:00+01:00')).toBe('second');
    expect((await history(id, earlier(replaced))).total).toBe(1);
  });

  it('with as_of before the memory was stored is 404', async () => {
    const id = await memoryd.store({ content: 'new' });
    const path = `/memories/${id}/history?${earlier('2020-01-01T00:00:00Z')}`;
    expectRefusal(await memoryd.send({ path }), { code: 'NOT_FOUND' });
  });

  it('comes page by page', async () => {
    const id = await memoryd.store({ content: 'text 0' });
    for (const n of [1, 2, 3, 4]) await memoryd.update(id, { content: `text ${n}` });
    const first = await history(id, 'limit=3');
    expect([first.texts.length, first.total]).toEqual([3, 5]);
    const second = await history(id, `limit=3&cursor=${first.next_cursor}`);
    expect(second.next_cursor).toBeUndefined();
    expect([...first.texts, ...second.texts]).toEqual((await history(id)).texts);
  });

  it('of a merged duplicate is its own', async () => {
    const session_id = 'duplicates';
    const survivor = await memoryd.store({ content: 'same', session_id });
    const duplicate = await memoryd.store({ content: 'other', session_id });
    await memoryd.update(duplicate, { content: 'same' });
    await memoryd.consolidate();
    expect((await memoryd.memory(duplicate)).merged_into).toBe(survivor);
    expect((await history(duplicate)).texts.map(({ content }) => content)).toEqual(['other', 'same']);
    expect((await history(survivor)).texts.map(({ content }) => content)).toEqual(['same']);
  });

  it('is gone with the memory', async () => {
    const id = await memoryd.store({ content: 'first' });
    await memoryd.update(id, { content: 'second' });
    await memoryd.forget(id);
    expectRefusal(await memoryd.send({ path: `/memories/${id}/history` }), { code: 'NOT_FOUND' });
  });

  it('of an unknown id is 404', async () => {
    expectRefusal(await memoryd.send({ path: '/memories/nobody/history' }), { code: 'NOT_FOUND' });
  });

  const refused = [
    { parameters: 'as_of=yesterday', field: 'as_of' },
    { parameters: 'as_of=9999-12-31T23:59:59-01:00', field: 'as_of' },
    { parameters: 'limit=0', field: 'limit' },
    { parameters: 'cursor=no.where', field: 'cursor' },
    { parameters: 'as_of=2999-01-01T00:00:00Z&cursor=no.where', field: 'cursor' },
    { parameters: 'since=2026-01-01T00:00:00Z', field: 'since' },
  ];
  it.each(refused)('refuses $parameters', async ({ parameters, field }) => {
    const id = await memoryd.store({ content: 'asked wrongly' });
    expectRefusal(await memoryd.send({ path: `/memories/${id}/history?${parameters}` }), { field });
  });
});
