import type { MapResponse, StoreBatchResponse } from '@memoryd/contract';
import { beforeAll, describe, expect, it } from 'vitest';
import { useServer, WORDS_ONLY } from './under-test.ts';

const TOPICS = {
  nuts: ['Hazelnuts make Maria ill', 'Walnuts and hazelnuts are nuts', 'No hazelnuts in the cake, please'],
  ferry: ['The ferry leaves the harbour at nine', 'Take the ferry to the island', 'The harbour ferry was late'],
} as const;

const createTexts = (topic: keyof typeof TOPICS) =>
  Array.from({ length: 12 }, (_, i) => `${TOPICS[topic][i % 3]}, day ${i}`);

describe('GET /map', () => {
  const memoryd = useServer({ env: { SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0' } });

  async function storeTexts(texts: readonly string[], fields: object): Promise<string[]> {
    const json = texts.map((content) => ({ content, ...fields }));
    const { results } = await memoryd.ok<StoreBatchResponse>({ method: 'POST', path: '/store/batch', json });
    return results.map((result) => ('id' in result ? result.id : ''));
  }

  /** Returns the map once it is computed. */
  async function getMap(query: string): Promise<MapResponse> {
    let map = await memoryd.get<MapResponse>(`/map?${query}`);
    await expect
      .poll(async () => {
        map = await memoryd.get<MapResponse>(`/map?${query}`);
        return map.is_changing;
      })
      .toBe(false);
    return map;
  }

  const ids = { nuts: [] as string[], ferry: [] as string[], ben: [] as string[] };
  beforeAll(async () => {
    ids.nuts = await storeTexts(createTexts('nuts'), { user_id: 'ada', tags: ['food', 'health'] });
    ids.ferry = await storeTexts(createTexts('ferry'), { user_id: 'ada' });
    const his = [...createTexts('ferry').map((text) => `${text}, in Zanzibar`), ...createTexts('nuts')];
    ids.ben = await storeTexts(his, { user_id: 'ben' });
    await memoryd.embedded();
  });

  it('says that it is being computed, and then returns the places of the memories of a user, newest first', async () => {
    const first = await memoryd.get<MapResponse>('/map?agent_id=nobody&user_id=ada');
    expect(first).toMatchObject({ state: 'ready', points: [], total: 0, is_changing: false });
    const map = await getMap('user_id=ada');
    expect(map).toMatchObject({ state: 'ready', total: 24 });
    expect(map.points.map(({ id }) => id).sort()).toEqual([...ids.nuts, ...ids.ferry].sort());
    const times = map.points.map(({ created_at }) => created_at);
    expect(times).toEqual(times.toSorted().reverse());
    for (const { x, y } of map.points) expect(Math.max(Math.abs(x), Math.abs(y))).toBeLessThanOrEqual(1);
    const point = map.points.find(({ id }) => id === ids.nuts[0]);
    const { created_at } = await memoryd.memory(ids.nuts[0] ?? '');
    expect(point).toMatchObject({ created_at, tier: 'working', tag: 'food', session_id: 'default', user_id: 'ada' });
  });

  it('names the clusters by words of their memories, and counts their points', async () => {
    const { points, clusters } = await getMap('user_id=ada');
    const words = clusters.flatMap((cluster) => cluster.words);
    expect(words).toEqual(expect.arrayContaining([expect.stringMatching(/ferry/), expect.stringMatching(/nuts/i)]));
    for (const [index, { count }] of clusters.entries()) {
      expect(points.filter(({ cluster }) => cluster === index)).toHaveLength(count);
    }
  });

  it('contains nothing of another user: no id, no place and no word', async () => {
    const text = JSON.stringify(await getMap('user_id=ada&shared=true'));
    for (const id of ids.ben) expect(text).not.toContain(id);
    expect(text).not.toMatch(/Zanzibar|"ben"/);
    const his = await getMap('user_id=ben');
    expect(his.points.map(({ id }) => id).sort()).toEqual(ids.ben.toSorted());
    expect(his.clusters.flatMap(({ words }) => words)).toContain('Zanzibar');
  });

  it('returns the places of the memories that match a filter, as they are on the whole map', async () => {
    const whole = await getMap('user_id=ada');
    const { points, total, clusters } = await getMap('user_id=ada&tag=health');
    expect(total).toBe(12);
    expect(points).toEqual(whole.points.filter(({ id }) => ids.nuts.includes(id)));
    expect(clusters.reduce((sum, { count }) => sum + count, 0)).toBe(12);
  });

  it('loses forgotten memories and their words at once', async () => {
    const others = await storeTexts(createTexts('ferry'), { user_id: 'quokka' });
    const texts = Array.from({ length: 12 }, (_, i) => `The quokka eats leaves, day ${i}`);
    const [first, ...left] = await storeTexts(texts, { user_id: 'quokka', session_id: 'zoo' });
    await memoryd.embedded();
    expect(JSON.stringify((await getMap('user_id=quokka')).clusters)).toContain('quokka');
    await memoryd.forget(first as string);
    const less = await memoryd.get<MapResponse>('/map?user_id=quokka');
    expect(less.points.map(({ id }) => id).sort()).toEqual([...left, ...others].sort());
    await memoryd.forgetMany('session_id=zoo');
    const rest = await memoryd.get<MapResponse>('/map?user_id=quokka');
    expect(rest.points.map(({ id }) => id).sort()).toEqual(others.sort());
    expect(rest.clusters.flatMap(({ words }) => words)).not.toContain('quokka');
    await memoryd.forgetMany('user_id=quokka');
    const gone = await memoryd.get<MapResponse>('/map?user_id=quokka');
    expect(gone).toMatchObject({ state: 'ready', points: [], clusters: [], total: 0 });
  });
});

describe('GET /map without an embedder', () => {
  const memoryd = useServer({ env: WORDS_ONLY });

  it('returns the state unavailable, because the memories have no vectors', async () => {
    await memoryd.storeInOrder([{ content: 'a memory without a vector' }]);
    const map = await memoryd.get('/map');
    expect(map).toMatchObject({ state: 'unavailable', points: [], clusters: [], total: 1, is_changing: false });
  });
});
