import type { FacetsResponse, GrowthResponse } from '@memoryd/contract';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectError } from './refusal.ts';
import { useServer, WORDS_ONLY } from './under-test.ts';

const memoryd = useServer({ env: WORDS_ONLY });

beforeAll(async () => {
  await memoryd.storeInOrder([
    { content: 'Ann likes figs', user_id: 'ann', tags: ['food'], created_at: '2025-03-29T23:30:00Z' },
    { content: 'Ben likes plums', user_id: 'ben', tags: ['food', 'plum'], created_at: '2025-03-30T22:30:00Z' },
    { content: 'The shop opens at nine', metadata: { room: 1 }, created_at: '2025-04-06T22:30:00Z' },
  ]);
});

describe('GET /facets', () => {
  const get = (query: string) => memoryd.get<FacetsResponse>(`/facets?${query}`);

  it('returns the values of a field with their counts, and the number of all values', async () => {
    expect(await get('field=tag&limit=1')).toEqual({ values: [{ value: 'food', count: 2 }], total: 2 });
    expect(await get('field=tag&user_id=ann')).toEqual({ values: [{ value: 'food', count: 1 }], total: 1 });
    expect(await get('field=tag&q=plu')).toMatchObject({ total: 2 });
    expect(await get('field=metadata.room')).toEqual({ values: [{ value: '1', count: 1 }], total: 1 });
    expect(await get('field=user_id&prefix=AN')).toEqual({ values: [{ value: 'ann', count: 1 }], total: 1 });
    expect(await get('field=user_id&user_id=ann&shared=true')).toMatchObject({ total: 2 });
  });

  it.each([
    ['field=content', 'field'],
    ['field=metadata.', 'field'],
    ['limit=5', 'field'],
    ['field=tag&prefix=a%00', 'prefix'],
    ['field=tag&limit=0', 'limit'],
    ['field=tag&shared=true', 'shared'],
  ])('refuses %s with an error that names %s', async (query, field) => {
    expectError(await memoryd.send({ path: `/facets?${query}` }), { field });
  });

  it('returns no forgotten value, though counts are kept for ten seconds', async () => {
    const id = await memoryd.store({ content: 'Cem was here', user_id: 'cem', tags: ['secret'] });
    const { values } = await get('field=tag&user_id=cem');
    expect(values).toEqual([{ value: 'secret', count: 1 }]);
    await memoryd.forget(id);
    expect(await get('field=tag&user_id=cem')).toEqual({ values: [], total: 0 });
  });
});

describe('GET /growth', () => {
  const get = (query: string) => memoryd.get<GrowthResponse>(`/growth?until=2025-12-31&${query}`);

  it('counts memories by period in a time zone, with the values of a field', async () => {
    expect(await get('step=week&timezone=Europe/Berlin&field=user_id')).toEqual({
      steps: [
        { from: '2025-03-23T23:00:00.000Z', count: 1, values: [0, 1, 0] },
        { from: '2025-03-30T22:00:00.000Z', count: 1, values: [0, 0, 1] },
        { from: '2025-04-06T22:00:00.000Z', count: 1, values: [1, 0, 0] },
      ],
      values: ['', 'ann', 'ben'],
      total: 3,
    });
    expect(await get('step=month')).toMatchObject({ steps: [{ count: 2 }, { count: 1 }] });
  });

  it.each([
    ['step=year', 'step'],
    ['field=tag', 'step'],
    ['step=day&timezone=Mars', 'timezone'],
    ['step=day&field=content', 'field'],
  ])('refuses %s with an error that names %s', async (query, field) => {
    expectError(await memoryd.send({ path: `/growth?${query}` }), { field });
  });
});
