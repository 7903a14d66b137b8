import { type FilterExpression, type Metadata, toFilterCondition } from '@memoryd/contract';
import { type MemoryFilter, meetsCondition } from '@memoryd/search';
import { propertyRuns } from '@memoryd/search/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FILTERED_MEMORIES, FILTERS, type FilteredMemory } from './filter-table.fixture.ts';
import { ALL, NOW, type TestedStorage } from './storage.fixture.ts';

const LATER = NOW + 1e9;

/** Contract tests: every read of `Storage` with a filter follows one rule. */
export function filterStorageContract(tested: TestedStorage): void {
  async function storeAll(memories: readonly FilteredMemory[]): Promise<void> {
    for (const { name, tags = [], source = 'api', importance = 0.5, created_at, metadata = {} } of memories) {
      const createdAt = Date.parse(created_at ?? '2025-01-01T00:00:00Z');
      const fields = { id: name, content: `needle ${name}`, tags, source, importance, metadata };
      await tested.storeMemory({ ...fields, createdAt, storedAt: NOW });
    }
  }

  /** The reads of `Storage` that accept a filter. Each returns the ids of the memories that match, sorted. */
  const readers: Record<string, (filter: MemoryFilter) => Promise<string[]>> = {
    async recall(filter) {
      const request = { namespace: 'default', text: 'needle', filter, now: LATER, poolSize: 50, tailSize: 0 };
      const { results } = await tested.storage.searchAndRank({
        ...request,
        ranking: { limit: 50 },
        maxBytes: 1_000_000,
      });
      return results.map(({ memory }) => memory.id).sort();
    },
    async list(filter) {
      const { items, total } = await tested.storage.memories('default', filter, ALL, LATER);
      expect(total).toBe(items.length);
      return items.map(({ id }) => id).sort();
    },
    async session({ condition }) {
      const options = condition && { condition };
      const { items, total } = await tested.storage.session('default', 'default', ALL, LATER, {}, options);
      expect(total).toBe(items.length);
      return items.map(({ id }) => id).sort();
    },
    /** As for the memories of events. */
    async fields({ condition }) {
      const { items } = await tested.storage.memories('default', {}, ALL, LATER);
      const matches = items.filter((memory) => !condition || meetsCondition(memory, condition));
      return matches.map(({ id }) => id).sort();
    },
    async export(filter) {
      const ids: string[] = [];
      const { records } = await tested.storage.exportRecords('default', filter);
      for await (const record of records) if ('memory' in record) ids.push(record.memory.id);
      return ids.sort();
    },
  };

  const toCases = (answers: readonly (readonly [FilterExpression, readonly string[]])[]) =>
    Object.fromEntries(answers.map(([filter, names]) => [JSON.stringify(filter), [...names].sort()]));

  it.each(Object.keys(readers))('a filter selects the memories of the table: %s', async (reader) => {
    await storeAll(FILTERED_MEMORIES);
    const answers: [FilterExpression, string[]][] = [];
    // Each export starts a process.
    const cases = reader === 'export' ? FILTERS.slice(-3) : FILTERS;
    for (const [filter] of cases) answers.push([filter, (await readers[reader]?.(toFilter(filter))) ?? []]);
    expect(toCases(answers)).toEqual(toCases(cases));
  });

  it('sessions and growth count the memories that match a filter', async () => {
    await storeAll(FILTERED_MEMORIES);
    const filter = toFilter({ 'metadata.v': { $gt: 0 } });
    const { items } = await tested.storage.sessions('default', filter, ALL, LATER);
    expect(items.map(({ sessionId, total }) => [sessionId, total])).toEqual([['default', 4]]);
    const [counts] = await tested.storage.growth('default', filter, [NOW], LATER);
    expect(counts?.working_count).toBe(4);
  });

  it('forgets the memories that match a filter, and no other', async () => {
    await storeAll(FILTERED_MEMORIES);
    const { count } = await tested.storage.forgetMany(
      'default',
      toFilter({ $not: { 'metadata.v': { $exists: false } } }),
    );
    expect(count).toBe(FILTERED_MEMORIES.length - 2);
    expect(await readers.list?.({})).toEqual(['absent', 'odd']);
  });

  it('a filter that matches every memory does not reach other users', async () => {
    await storeAll([{ name: 'shared' }]);
    await tested.storeMemory({ id: 'ann', content: 'needle ann', userId: 'ann' });
    await tested.storeMemory({ id: 'ben', content: 'needle ben', userId: 'ben' });
    for (const expression of [{ $or: [{ tag: 'a' }, { $not: { tag: 'a' } }] }, { $not: { session_id: 'none' } }]) {
      const filter = { ...toFilter(expression), userIds: ['ann'] };
      expect(await readers.recall?.(filter)).toEqual(['ann']);
      expect(await readers.list?.(filter)).toEqual(['ann']);
      expect(await readers.export?.(filter)).toEqual(['ann']);
    }
    const everyOfAnn = { ...toFilter({ $not: { tag: 'a' } }), userIds: ['ann'] };
    expect((await tested.storage.forgetMany('default', everyOfAnn)).count).toBe(1);
    expect(await readers.list?.({})).toEqual(['ben', 'shared']);
  });

  it('recall applies a filter before it takes the best memories', async () => {
    for (let i = 0; i < 60; i++) await tested.storeMemory({ content: 'needle needle needle' });
    const { ordinal } = await tested.storeMemory({ content: 'a needle in much hay', metadata: { room: 1 } });
    expect(await tested.findOrdinals('needle', toFilter({ 'metadata.room': { $gte: 1 } }))).toEqual([ordinal]);
  });

  it('recall follows changes of the fields of a filter', async () => {
    await storeAll([{ name: 'one', tags: ['a'] }, { name: 'two' }]);
    const of = (filter: FilterExpression) => readers.recall?.(toFilter(filter));
    expect(await of({ tag: 'a', 'metadata.n': { $exists: false } })).toEqual(['one']);
    expect(await of({ updated_at: { $gt: new Date(NOW + 1).toISOString() } })).toEqual([]);
    expect(await of({ importance: { $gte: 0.9 } })).toEqual([]);
    const change = { namespace: 'default', id: 'two', at: NOW + 5 };
    await tested.storage.update({ ...change, tags: ['a'], metadata: { n: 1 } });
    expect(await of({ tag: 'a' })).toEqual(['one', 'two']);
    expect(await of({ 'metadata.n': 1 })).toEqual(['two']);
    await tested.storage.update({ ...change, importance: 0.9, metadata: {} });
    expect(await of({ importance: { $gte: 0.9 } })).toEqual(['two']);
    expect(await of({ 'metadata.n': 1 })).toEqual([]);
    // Only the time of the change differs.
    await tested.storage.update({ ...change, id: 'one', expiresAt: null });
    expect(await of({ updated_at: { $gt: new Date(NOW + 1).toISOString() } })).toEqual(['one', 'two']);
    await tested.promote(NOW + 10, 10);
    expect(await of({ tier: 'episodic' })).toEqual(['one', 'two']);
    await tested.storeMemory({ id: 'three', content: 'needle three', tags: ['a'] });
    expect(await of({ tag: 'a' })).toEqual(['one', 'three', 'two']);
    await tested.storage.forget('default', 'one');
    expect(await of({ tag: 'a' })).toEqual(['three', 'two']);
  });

  it('recall, lists and a model of the rule agree on random filters and metadata', async () => {
    const memories = fc.sample(anyMemory, { numRuns: 60, seed: 54 }).map((memory, i) => ({ ...memory, name: `m${i}` }));
    await storeAll(memories);
    await fc.assert(
      fc.asyncProperty(anyFilter, async (filter) => {
        const expected = memories.filter((memory) => isMatch(filter, memory)).map(({ name }) => name);
        expect(await readers.list?.(toFilter(filter))).toEqual([...expected].sort());
        expect(await readers.fields?.(toFilter(filter))).toEqual([...expected].sort());
        const request = { namespace: 'default', text: 'needle', filter: toFilter(filter), now: LATER };
        const { results } = await tested.storage.searchAndRank({
          ...{ ...request, poolSize: 100, tailSize: 0, ranking: { limit: 100 }, maxBytes: 1_000_000 },
        });
        expect(results.map(({ memory }) => memory.id).sort()).toEqual([...expected].sort());
      }),
      { numRuns: propertyRuns(500) },
    );
  });
}

function toFilter(filter: FilterExpression): MemoryFilter {
  const condition = toFilterCondition(filter);
  return condition ? { condition } : {};
}

const texts = fc.constantFrom('', 'a', 'ab', 'b', '10', 'true', '😀', '～', '"', '\\', "'", '%', 'A');
const numbers = fc.constantFrom(0, -1, 1, 9.5, 10, 0.1, 0.30000000000000004, 1e-7, 123456789.123, 2 ** 53 - 1);
const scalars = fc.oneof(texts, numbers, fc.boolean(), fc.constant(null));
const values = fc.oneof(
  { weight: 4, arbitrary: scalars },
  fc.array(scalars, { maxLength: 3 }),
  fc.dictionary(fc.constantFrom('x', 'y', '0'), scalars, { maxKeys: 2 }),
);
const anyMemory = fc.record({
  tags: fc.uniqueArray(fc.constantFrom('a', 'ab', '😀', '～'), { maxLength: 2 }),
  source: texts,
  importance: fc.constantFrom(0, 0.1, 0.5, 1),
  metadata: fc.dictionary(fc.constantFrom('x', 'y', '"'), values, { maxKeys: 3 }) as fc.Arbitrary<Metadata>,
});

const orders = (operand: fc.Arbitrary<unknown>) =>
  fc.tuple(fc.constantFrom('$gt', '$gte', '$lt', '$lte'), operand).map(([name, value]) => ({ [name]: value }));
const equalities = (operand: fc.Arbitrary<unknown>) =>
  fc.oneof(
    fc.tuple(fc.constantFrom('$eq', '$ne'), operand).map(([name, value]) => ({ [name]: value })),
    fc
      .tuple(fc.constantFrom('$in', '$nin'), fc.array(operand, { minLength: 1, maxLength: 3 }))
      .map(([name, value]) => ({ [name]: value })),
    fc.boolean().map((exists) => ({ $exists: exists })),
  );
const prefixes = texts.map((text) => ({ $prefix: text }));
const anyField = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        fc.constantFrom('x', 'y', '"', 'x.x', 'y.0'),
        fc.oneof(
          scalars,
          equalities(scalars),
          orders(fc.oneof(texts, numbers)),
          prefixes,
          scalars.map((value) => ({ $contains: value })),
        ),
      )
      .map(([path, test]) => ({ [`metadata.${path}`]: test })),
  },
  fc
    .tuple(fc.constantFrom('tag', 'source'), fc.oneof(equalities(texts), orders(texts), prefixes))
    .map(([field, test]) => ({ [field]: test })),
  fc.oneof(equalities(numbers), orders(numbers)).map((test) => ({ importance: test })),
);
const { anyFilter } = fc.letrec<{ anyFilter: object; field: object }>((tie) => ({
  field: anyField,
  anyFilter: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    tie('field'),
    fc.array(tie('anyFilter'), { minLength: 1, maxLength: 3 }).map(($or) => ({ $or })),
    fc.array(tie('anyFilter'), { minLength: 1, maxLength: 3 }).map(($and) => ({ $and })),
    tie('anyFilter').map(($not) => ({ $not })),
  ),
})) as unknown as { anyFilter: fc.Arbitrary<FilterExpression> };

/** A model of the rule: evaluates a filter as it was written. */
function isMatch(filter: object, memory: FilteredMemory): boolean {
  return Object.entries(filter).every(([name, value]) => {
    if (name === '$and') return value.every((part: object) => isMatch(part, memory));
    if (name === '$or') return value.some((part: object) => isMatch(part, memory));
    if (name === '$not') return !isMatch(value, memory);
    const held = getValues(name, memory);
    const tests = typeof value === 'object' && value !== null ? Object.entries(value) : [['$eq', value] as const];
    return tests.every(([operator, operand]) => isMet(held, operator, operand as never));
  });
}

function getValues(name: string, memory: FilteredMemory): unknown[] {
  if (name === 'tag') return memory.tags ?? [];
  if (!name.startsWith('metadata.')) return [memory[name as 'source' | 'importance']];
  let value: unknown = memory.metadata;
  for (const key of name.split('.').slice(1)) {
    const isHolder = typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, key);
    if (!isHolder) return [];
    value = (value as Metadata)[key];
  }
  return [value];
}

function isMet(held: readonly unknown[], operator: string, operand: never): boolean {
  const isEqualToOne = (operands: readonly unknown[]) => held.some((value) => operands.some((one) => one === value));
  const isOrdered = (accept: (order: number) => boolean) =>
    held.some((value) => typeof value === typeof operand && accept(getOrder(value as never, operand)));
  const tests: Record<string, () => boolean> = {
    $eq: () => isEqualToOne([operand]),
    $ne: () => !isEqualToOne([operand]),
    $in: () => isEqualToOne(operand),
    $nin: () => !isEqualToOne(operand),
    $exists: () => held.length > 0 === operand,
    $gt: () => isOrdered((order) => order > 0),
    $gte: () => isOrdered((order) => order >= 0),
    $lt: () => isOrdered((order) => order < 0),
    $lte: () => isOrdered((order) => order <= 0),
    $prefix: () => held.some((value) => typeof value === 'string' && value.startsWith(operand)),
    $contains: () => held.some((value) => Array.isArray(value) && value.some((element) => element === operand)),
  };
  return (tests[operator] as () => boolean)();
}

/** Orders two numbers, or two texts by the bytes of UTF-8, whose order is that of code points. */
function getOrder(one: string | number, other: string | number): number {
  return typeof one === 'number' ? one - Number(other) : Buffer.compare(Buffer.from(one), Buffer.from(String(other)));
}
