import type { ListOrder, Position, StoredMemory } from '@memoryd/core/ports';
import { getRetention, type MemoryFilter, readListWords } from '@memoryd/search';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ALL, LATER, NOW, nextMemory, type TestedStorage } from './storage.fixture.ts';

/** Contract tests: lists of memories in each order. */
export function orderStorageContract(tested: TestedStorage): void {
  const request = fc.record({
    order: fc.record({
      by: fc.constantFrom(
        'created' as const,
        'changed' as const,
        'importance' as const,
        'use' as const,
        'retention' as const,
      ),
      direction: fc.constantFrom('asc' as const, 'desc' as const),
      offset: fc.oneof(fc.constant(0), fc.nat({ max: 25 })),
    }),
    limit: fc.integer({ min: 1, max: 12 }),
    filter: fc.constantFrom<MemoryFilter>(
      {},
      { userIds: ['ann'] },
      { userIds: ['ann', ''] },
      { agentIds: ['cook'] },
      { tags: ['even'] },
      { sessionId: 'trip' },
      { tier: 'working' },
      { since: NOW - 3 },
      { words: words('red') },
      { words: words('her'), userIds: ['ann'] },
      { words: words('her'), tags: ['even'], sessionId: 'trip' },
    ),
  });

  it('orders memories by the value, the time of creation and the order of storing, at any offset', async () => {
    const stored = Array.from({ length: 24 }, (_, i) =>
      nextMemory({
        content: `a ${i % 2 ? 'red heron' : 'grey kite'} ${i}`,
        createdAt: NOW - (i % 6),
        storedAt: NOW - 1e9 * (i % 4),
        importance: (i % 3) / 2,
        userId: ['ann', 'bob', ''][i % 3] as string,
        agentId: i % 4 ? '' : 'cook',
        sessionId: i % 2 ? 'trip' : 'home',
        tags: i % 2 ? [] : ['even'],
      }),
    );
    const outcomes = await tested.storage.storeMany(stored);
    const accesses = outcomes.flatMap((outcome, i) =>
      outcome.outcome === 'stored' && i % 5 > 1
        ? [{ namespace: 'default', ordinal: outcome.ordinal, count: i % 5, at: NOW }]
        : [],
    );
    await tested.storage.recordAccess(accesses);
    for (const [i, { id }] of stored.entries()) {
      if (i % 7 === 0) await tested.storage.update({ namespace: 'default', id, importance: 0.7, at: NOW + i });
    }
    await fc.assert(
      fc.asyncProperty(request, async ({ order, limit, filter }) => {
        const { items } = await tested.storage.memories('default', filter, ALL, LATER);
        const page = await tested.storage.memories('default', filter, { ...ALL, limit }, LATER, order);
        const expected = items.sort(getComparator(order)).slice(order.offset, order.offset + limit);
        expect(page.items.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
        expect(page).toMatchObject({ total: items.length });
      }),
      { numRuns: 100 },
    );
  });

  it('continues after a position in both directions of creation', async () => {
    const stored = Array.from({ length: 7 }, (_, i) => nextMemory({ createdAt: NOW - (i % 3) }));
    await tested.storage.storeMany(stored);
    for (const direction of ['asc', 'desc'] as const) {
      const order = { by: 'created', direction, offset: 0 } as const;
      const whole = await tested.storage.memories('default', {}, ALL, LATER, order);
      const ids: string[] = [];
      let after: Position | undefined;
      do {
        const page = await tested.storage.memories(
          'default',
          {},
          { ...ALL, limit: 2, ...(after && { after }) },
          LATER,
          order,
        );
        ids.push(...page.items.map(({ id }) => id));
        after = page.next;
      } while (after);
      expect(ids).toEqual(whole.items.map(({ id }) => id));
      expect(ids).toHaveLength(7);
    }
  });

  it('orders only the newest 10,000 by use and retention, and returns their number', async () => {
    const stored = Array.from({ length: 10_001 }, (_, i) => nextMemory({ createdAt: NOW + i, storedAt: NOW }));
    await tested.storage.storeMany(stored);
    for (const by of ['use', 'retention'] as const) {
      const order = { by, direction: 'asc', offset: 0 } as const;
      const page = await tested.storage.memories('default', {}, { ...ALL, limit: 1 }, NOW + 20_000, order);
      expect(page).toMatchObject({ total: 10_001, orderedCount: 10_000, items: [{ id: stored[1]?.id }] });
    }
    const oldest = { by: 'created', direction: 'asc', offset: 0 } as const;
    const page = await tested.storage.memories('default', {}, { ...ALL, limit: 1 }, NOW + 20_000, oldest);
    expect(page.items[0]?.id).toBe(stored[0]?.id);
    expect(page.orderedCount).toBeUndefined();
  });
}

function words(typed: string) {
  const found = readListWords(typed);
  if (!found) throw new Error('the test must type a word');
  return found;
}

function getComparator({ by, direction }: ListOrder) {
  const getKey = (memory: StoredMemory) =>
    ({
      created: 0,
      changed: memory.updatedAt,
      importance: memory.importance,
      use: memory.accessCount,
      retention: getRetention(memory, LATER),
    })[by];
  const sign = direction === 'asc' ? 1 : -1;
  return (one: StoredMemory, other: StoredMemory) =>
    sign * (getKey(one) - getKey(other) || one.createdAt - other.createdAt || one.ordinal - other.ordinal);
}
