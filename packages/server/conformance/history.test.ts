import type { HistoryResponse } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import { expectRefused } from './refusal.ts';
import { useServer, WORDS_ONLY } from './under-test.ts';

const memoryd = useServer({ env: WORDS_ONLY });

const getHistory = (id: string, parameters = '') =>
  memoryd.get<HistoryResponse>(`/memories/${id}/history?${parameters}`);
const toParameters = (time: string) => `known_at=${encodeURIComponent(time)}`;
const getTextAt = async (id: string, time: string) => (await getHistory(id, toParameters(time))).texts[0]?.content;

describe('GET /memories/{id}/history', () => {
  it('returns every text with its period of validity, the current text last', async () => {
    const id = await memoryd.store({ content: 'first' });
    for (const content of ['second', 'third']) await memoryd.update(id, { content });
    const { texts, total, ...rest } = await getHistory(id);
    expect(rest).toEqual({ id });
    expect(total).toBe(3);
    expect(texts.map(({ content }) => content)).toEqual(['first', 'second', 'third']);
    expect(texts.at(-1)?.held_until).toBeNull();
    const [first, second, third] = texts;
    expect([first?.held_until, second?.held_until]).toEqual([second?.held_from, third?.held_from]);
    expect(Date.parse(first?.held_from ?? '')).toBeLessThanOrEqual(Date.parse(first?.held_until ?? ''));
  });

  it('returns one text if only other fields were updated', async () => {
    const id = await memoryd.store({ content: ' the only\ntext ' });
    await memoryd.update(id, { importance: 1, tags: ['a'], content: ' the only\ntext ' });
    const { texts } = await getHistory(id);
    expect(texts).toMatchObject([{ content: ' the only\ntext ', held_until: null }]);
  });

  it('returns a first text that is valid from the time of storing, regardless of created_at', async () => {
    const before = Date.now();
    const id = await memoryd.store({ content: 'back-filled', created_at: '2001-01-01T00:00:00Z' });
    expect(Date.parse((await getHistory(id)).texts[0]?.held_from ?? '')).toBeGreaterThanOrEqual(before);
    await expectRefused(
      memoryd,
      { path: `/memories/${id}/history?${toParameters('2002-01-01T00:00:00Z')}` },
      {
        code: 'NOT_FOUND',
      },
    );
  });

  it('returns only the text that was current at the time known_at', async () => {
    const id = await memoryd.store({ content: 'first' });
    await memoryd.update(id, { content: 'second' });
    const [first] = (await getHistory(id)).texts;
    const replaced = first?.held_until ?? '';
    const justBefore = new Date(Date.parse(replaced) - 1).toISOString();
    expect(await getTextAt(id, replaced)).toBe('second');
    if (justBefore >= (first?.held_from ?? '')) expect(await getTextAt(id, justBefore)).toBe('first');
    expect(await getTextAt(id, '9999-01-01T00:00:00+01:00')).toBe('second');
    expect((await getHistory(id, toParameters(replaced))).total).toBe(1);
  });

  it('returns 404 if known_at is before the memory was stored', async () => {
    const id = await memoryd.store({ content: 'new' });
    const path = `/memories/${id}/history?${toParameters('2020-01-01T00:00:00Z')}`;
    await expectRefused(memoryd, { path }, { code: 'NOT_FOUND' });
  });

  it('returns texts page by page', async () => {
    const id = await memoryd.store({ content: 'text 0' });
    for (const n of [1, 2, 3, 4]) await memoryd.update(id, { content: `text ${n}` });
    const first = await getHistory(id, 'limit=3');
    expect([first.texts.length, first.total]).toEqual([3, 5]);
    const second = await getHistory(id, `limit=3&cursor=${first.next_cursor}`);
    expect(second.next_cursor).toBeUndefined();
    expect([...first.texts, ...second.texts]).toEqual((await getHistory(id)).texts);
  });

  it('returns the texts of a merged duplicate separately from the texts of its visible memory', async () => {
    const session_id = 'duplicates';
    const survivor = await memoryd.store({ content: 'same', session_id });
    const duplicate = await memoryd.store({ content: 'other', session_id });
    await memoryd.update(duplicate, { content: 'same' });
    await memoryd.consolidate();
    expect((await memoryd.memory(duplicate)).merged_into).toBe(survivor);
    expect((await getHistory(duplicate)).texts.map(({ content }) => content)).toEqual(['other', 'same']);
    expect((await getHistory(survivor)).texts.map(({ content }) => content)).toEqual(['same']);
  });

  it('returns 404 once the memory is forgotten', async () => {
    const id = await memoryd.store({ content: 'first' });
    await memoryd.update(id, { content: 'second' });
    await memoryd.forget(id);
    await expectRefused(memoryd, { path: `/memories/${id}/history` }, { code: 'NOT_FOUND' });
  });

  it('returns 404 for an unknown id', async () => {
    await expectRefused(memoryd, { path: '/memories/nobody/history' }, { code: 'NOT_FOUND' });
  });

  const refused = [
    { parameters: 'known_at=yesterday', field: 'known_at' },
    { parameters: 'known_at=9999-12-31T23:59:59-01:00', field: 'known_at' },
    { parameters: 'limit=0', field: 'limit' },
    { parameters: 'cursor=no.where', field: 'cursor' },
    { parameters: 'known_at=2999-01-01T00:00:00Z&cursor=no.where', field: 'cursor' },
    { parameters: 'since=2026-01-01T00:00:00Z', field: 'since' },
  ];
  it.each(refused)('GET /memories/{id}/history rejects $parameters', async ({ parameters, field }) => {
    const id = await memoryd.store({ content: 'unchanged' });
    await expectRefused(memoryd, { path: `/memories/${id}/history?${parameters}` }, { field });
  });
});
