import { type MemoryFilter, readListWords } from '@memoryd/search';
import { expect, it } from 'vitest';
import { ALL, LATER, NOW, nextMemory, type TestedStorage } from './storage.fixture.ts';

/** Contract tests: lists find memories by the words of their texts. */
export function wordStorageContract(tested: TestedStorage): void {
  const { storeMemory } = tested;

  /** Returns the ids of the memories with the words that a person typed, newest first. */
  async function find(typed: string, filter: MemoryFilter = {}, namespace = 'default'): Promise<string[]> {
    const words = readListWords(typed);
    if (!words) throw new Error('the test must type a word');
    const page = await tested.storage.memories(namespace, { ...filter, words }, ALL, LATER);
    expect(page.total).toBe(page.items.length);
    return page.items.map(({ id }) => id);
  }

  it('find a memory by the beginning of a word', async () => {
    await storeMemory({ id: 'hazel', content: 'Maria is allergic to hazelnuts' });
    await storeMemory({ id: 'other', content: 'Maria swims on Mondays' });
    expect(await find('haz')).toEqual(['hazel']);
    expect(await find('hazelnuts')).toEqual(['hazel']);
    expect(await find('azel')).toEqual([]);
  });

  it('find memories with all words, of which only the last may be a beginning', async () => {
    await storeMemory({ id: 'one', content: 'Maria is allergic to hazelnuts' });
    await storeMemory({ id: 'two', content: 'Mariana eats hazelnuts' });
    expect(await find('maria haz')).toEqual(['one']);
    expect(await find('haz maria')).toEqual([]);
    expect(await find('hazelnuts maria ')).toEqual(['two', 'one']);
  });

  it.each([
    { typed: 'the', text: 'The red heron', why: 'a stop word' },
    { typed: 'CAFE', text: 'a Café in Zürich', why: 'case and accents' },
    { typed: 'zurich', text: 'a Café in Zürich', why: 'accents' },
    { typed: 'running', text: 'running shoes', why: 'an inflected word' },
    { typed: '忘れ', text: '傘を忘れました', why: 'a script without spaces' },
    { typed: '傘', text: '傘を忘れました', why: 'one letter of such a script' },
    { typed: 'при', text: 'Мария приехала', why: 'Cyrillic' },
    { typed: 'phone', text: 'my iPhone', why: 'a part of a compound' },
    { typed: 'c++', text: 'writes C++ at work', why: 'signs of a word' },
    { typed: '10:3', text: 'at 10:30 on Friday', why: 'the beginning of a time' },
    { typed: '🌊', text: 'the sea 🌊', why: 'a symbol' },
    { typed: "don't", text: 'they don’t know', why: 'an apostrophe' },
    { typed: 'AND NOT "or*', text: 'and not or', why: 'operators of a database' },
  ])('find $typed in "$text": $why', async ({ typed, text }) => {
    await storeMemory({ id: 'found', content: text });
    await storeMemory({ id: 'other', content: 'Nothing of this kind' });
    expect(await find(typed)).toEqual(['found']);
  });

  it('find the present text of a changed memory, and not the former', async () => {
    await storeMemory({ id: 'changed', content: 'lives in Lisbon' });
    await tested.storage.update({ namespace: 'default', id: 'changed', content: 'lives in Porto', at: NOW + 10 });
    expect(await find('porto')).toEqual(['changed']);
    expect(await find('lisbon')).toEqual([]);
  });

  it('find no forgotten memory', async () => {
    await storeMemory({ id: 'gone', content: 'a red heron' });
    await storeMemory({ id: 'left', content: 'a red kite' });
    await tested.storage.forget('default', 'gone');
    expect(await find('red')).toEqual(['left']);
    expect(await find('heron')).toEqual([]);
  });

  it('find only memories of the namespace and of the users and agents of the filter', async () => {
    await storeMemory({ id: 'ann', content: 'a red heron', userId: 'ann', agentId: 'cook' });
    await storeMemory({ id: 'bob', content: 'a red heron', userId: 'bob' });
    await storeMemory({ id: 'all', content: 'a red heron' });
    await storeMemory({ id: 'elsewhere', content: 'a red heron', namespace: 'other', userId: 'ann' });
    expect(await find('heron')).toEqual(['all', 'bob', 'ann']);
    expect(await find('heron', { userIds: ['ann'] })).toEqual(['ann']);
    expect(await find('heron', { userIds: ['ann', ''] })).toEqual(['all', 'ann']);
    expect(await find('heron', { agentIds: ['cook'] })).toEqual(['ann']);
    expect(await find('heron', {}, 'other')).toEqual(['elsewhere']);
    expect(await find('heron', {}, 'third')).toEqual([]);
  });

  it('find only memories that match the tag, session, source, time and validity of the filter', async () => {
    await storeMemory({ id: 'old', content: 'a red heron', createdAt: NOW - 10, tags: ['bird'], sessionId: 'trip' });
    await storeMemory({ id: 'new', content: 'a red heron', createdAt: NOW, source: 'chat', validTo: NOW + 5 });
    expect(await find('heron', { until: NOW - 1 })).toEqual(['old']);
    expect(await find('heron', { tags: ['bird'] })).toEqual(['old']);
    expect(await find('heron', { sessionId: 'trip' })).toEqual(['old']);
    expect(await find('heron', { source: 'chat' })).toEqual(['new']);
    expect(await find('heron', { tier: 'semantic' })).toEqual([]);
    expect(await find('heron', { holding: true, at: LATER })).toEqual(['old']);
    expect(await find('heron', { holding: true, at: NOW })).toEqual(['new', 'old']);
    expect(await find('heron', { idPart: 'ol' })).toEqual(['old']);
    expect(await find('heron', { condition: { field: 'source', operator: '$in', values: ['chat'] } })).toEqual(['new']);
  });

  it('count the memories with the words up to each time', async () => {
    await storeMemory({ content: 'a red heron', createdAt: NOW - 10 });
    await storeMemory({ content: 'a grey heron', createdAt: NOW });
    await storeMemory({ content: 'a kite', createdAt: NOW });
    const words = readListWords('heron');
    const growth = await tested.storage.growth('default', { ...(words && { words }) }, [NOW - 5, NOW], LATER);
    expect(growth.map(({ working_count }) => working_count)).toEqual([1, 2]);
  });

  it('find words of a user with thousands of memories', async () => {
    const many = Array.from({ length: 2100 }, (_, i) => nextMemory({ content: `heron${i}`, userId: 'ann' }));
    await tested.storage.storeMany([...many, nextMemory({ id: 'bob', content: 'heron2099', userId: 'bob' })]);
    expect(await find('heron2099', { userIds: ['ann'] })).toEqual([many[2099]?.id]);
    expect(await find('heron209', { userIds: ['ann'] })).toHaveLength(11);
    expect(await find('heron2099', { userIds: ['bob'] })).toEqual(['bob']);
    // A new database takes less time than forgetting these memories.
    await tested.openNew();
  });

  it('count at most so many memories, and find the first page of frequent words wherever it lies', async () => {
    const older = Array.from({ length: 101 }, (_, i) => nextMemory({ content: 'a heron', createdAt: NOW + i }));
    const newer = Array.from({ length: 605 }, (_, i) => nextMemory({ content: 'a kite', createdAt: NOW + 5000 + i }));
    await tested.storage.storeMany([...older, ...newer]);
    const list = (typed: string, direction: 'asc' | 'desc', offset = 0, by: 'created' | 'importance' = 'created') => {
      const words = readListWords(typed);
      const page = { ...ALL, limit: 1 };
      return tested.storage.memories('default', { ...(words && { words }) }, page, NOW + 20_000, {
        by,
        direction,
        offset,
        maxCounted: 500,
      });
    };
    const isPartial = { total: 500, countedCount: 500 };
    expect(await list('kite', 'desc')).toMatchObject({ ...isPartial, items: [{ id: newer.at(-1)?.id }] });
    expect(await list('kite', 'asc')).toMatchObject({ ...isPartial, items: [{ id: newer[0]?.id }] });
    expect(await list('kite', 'desc', 499)).toMatchObject({ ...isPartial, items: [{ id: newer[105]?.id }] });
    const herons = await list('heron', 'desc');
    expect(herons).toMatchObject({ total: 101, items: [{ id: older.at(-1)?.id }] });
    expect(herons.countedCount).toBeUndefined();
    expect(await list('heron', 'asc', 100)).toMatchObject({ total: 101, items: [{ id: older.at(-1)?.id }] });
    expect(await list('heron', 'desc', 1, 'importance')).toMatchObject({
      total: 101,
      items: [{ id: older.at(-2)?.id }],
    });
  });

  it('store a text with more different words than the index holds', async () => {
    const content = `first ${Array.from({ length: 60_000 }, (_, i) => `word${i.toString(36)}`).join(' ')}`;
    await storeMemory({ id: 'long', content });
    expect(await find('first')).toEqual(['long']);
  });
}
