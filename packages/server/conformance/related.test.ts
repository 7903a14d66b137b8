import type { RelatedResponse } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import { expectError } from './refusal.ts';
import { useServer, WORDS_ONLY } from './under-test.ts';

describe('GET /memories/{id}/related', () => {
  const memoryd = useServer({ env: WORDS_ONLY });
  const getRelated = (id: string, query = '') =>
    memoryd.ok<RelatedResponse>({ path: `/memories/${id}/related${query}` });

  it('returns the most similar memories of any owner, best first, without the memory and its copies', async () => {
    const [, near, nearest, id] = await memoryd.storeInOrder([
      { content: 'Bees sleep in winter.' },
      { content: 'The harbour crane lifts ten tonnes in calm weather.', user_id: 'ben' },
      { content: 'The harbour crane lifts eleven tonnes.', user_id: 'ada' },
      { content: 'The harbour crane lifts twelve tonnes.', user_id: 'ada' },
      { content: 'The harbour crane lifts twelve tonnes.', user_id: 'ben' },
    ]);
    const { related, ...rest } = await getRelated(id as string);
    expect(rest).toEqual({ id });
    expect(related.map(({ memory }) => memory.id)).toEqual([nearest, near]);
    expect(related[0]?.memory).toEqual(await memoryd.memory(nearest as string));
    const [first, second] = related.map(({ score }) => score) as [number, number];
    expect(first).toBeGreaterThan(second);
    expect(second).toBeGreaterThan(0);
    expect((await getRelated(id as string, '?limit=1')).related).toHaveLength(1);
  });

  it('returns no memory that shares only one of many words', async () => {
    const budget =
      'Budget review: marketing spends less, engineering hires two, travel stays frozen, ferry tickets expire, ' +
      'the warehouse rents more space, support answers within a day, and sales visits every large customer';
    const [, , id] = await memoryd.storeInOrder([
      { content: 'The ferry to the island leaves at nine', user_id: 'budget' },
      { content: 'Engineering hires two after the budget review', user_id: 'budget' },
      { content: budget, user_id: 'budget' },
    ]);
    const { related } = await getRelated(id as string);
    expect(related.map(({ memory }) => memory.content)).toEqual(['Engineering hires two after the budget review']);
  });

  it('returns only memories of the requested user, and none for a memory of another user', async () => {
    const contents = ['The kettle boils quickly', 'The kettle boils slowly'];
    const [hers, his] = await memoryd.storeInOrder([
      { content: contents[0] as string, user_id: 'kettle-ada' },
      { content: contents[1] as string, user_id: 'kettle-ben' },
    ]);
    expect((await getRelated(hers as string, '?user_id=kettle-ada')).related).toEqual([]);
    const other = await memoryd.send({ path: `/memories/${his}/related?user_id=kettle-ada` });
    expectError(other, { code: 'NOT_FOUND' });
    expect(other.text).not.toContain('slowly');
  });

  it('rejects an unknown id and a limit out of range', async () => {
    expectError(await memoryd.send({ path: '/memories/nobody/related' }), { code: 'NOT_FOUND' });
    const [id] = await memoryd.storeInOrder([{ content: 'A limit of its own' }]);
    expectError(await memoryd.send({ path: `/memories/${id}/related?limit=21` }), { field: 'limit' });
  });
});
