import type { GrowthRequest, MemoriesRequest, Memory } from '@memoryd/client';
import { LIMITS } from '@memoryd/contract/limits';
import { describe, expect, it, vi } from 'vitest';
import type { Memories } from '../service.tsx';
import { Rows } from './rows.ts';

const DAY_MS = 86_400_000;

/** A service with memories of the given creation times, newest first. Records its requests. */
class Service {
  readonly growths: GrowthRequest[] = [];
  readonly lists: MemoriesRequest[] = [];
  times: readonly number[];

  constructor(times: readonly number[]) {
    this.times = times;
  }

  async memories(request: MemoriesRequest) {
    this.lists.push(request);
    const { q, since = '1970', until = '9999', offset = 0, limit = 50, dir = 'desc', growth_at } = request;
    expect(offset).toBeLessThanOrEqual(LIMITS.offset);
    const [from, to] = [Date.parse(since), Date.parse(until)];
    const found = this.times.filter((at) => at >= from && at <= to);
    const ordered = dir === 'desc' ? found : found.toReversed();
    const growth = growth_at?.map((at) => {
      const until = Date.parse(at);
      const count = found.filter((one) => one <= until).length;
      return { at, working_count: 0, episodic_count: count, semantic_count: 0 };
    });
    return {
      memories: ordered.slice(offset, offset + limit).map((at) => {
        return { id: String(this.times.indexOf(at)), created_at: new Date(at).toISOString() } as Memory;
      }),
      // Memories with some words are counted up to a limit.
      ...(q !== undefined && found.length > LIMITS.countedMemories
        ? { total: LIMITS.countedMemories, counted_count: LIMITS.countedMemories }
        : { total: found.length }),
      ...(growth && { growth }),
    };
  }

  async growth(request: GrowthRequest) {
    this.growths.push(request);
    const days = new Map<number, number>();
    for (const at of this.times.toReversed()) {
      const day = Math.floor(at / DAY_MS);
      days.set(day, (days.get(day) ?? 0) + 1);
    }
    const steps = [...days].map(([day, count]) => ({ from: new Date(day * DAY_MS).toISOString(), count }));
    return { steps, total: this.times.length };
  }
}

async function readRow(rows: Rows, index: number): Promise<string | undefined> {
  rows.show(index, index);
  return vi.waitUntil(() => rows.getRow(index)?.id, { timeout: 10_000, interval: 5 });
}

describe('a long list', () => {
  const now = Date.UTC(2026, 5, 1, 12);
  const createRows = (service: Service, dir: 'asc' | 'desc') =>
    new Rows(service as unknown as Memories, { filter: {}, order: 'created', dir }, undefined, () => {});

  it.each(['desc', 'asc'] as const)('rows are read at any place after one count by day, with dir=%s', async (dir) => {
    // 40 a day.
    const service = new Service(Array.from({ length: 30_000 }, (_, i) => now - i * 2_160_000));
    const rows = createRows(service, dir);
    await readRow(rows, 0);
    expect(rows.total).toBe(30_000);
    for (const index of [29_999, 10_001, 20_500, 15_000, 9_999]) {
      expect(await readRow(rows, index)).toBe(String(dir === 'desc' ? index : 29_999 - index));
    }
    expect(service.growths).toHaveLength(1);
    expect(service.lists.filter((request) => request.growth_at)).toEqual([]);
    rows.close();
  });

  it('rows are read at any place of a day with more memories than the largest offset', async () => {
    const service = new Service(Array.from({ length: 25_000 }, (_, i) => now - i * 1000));
    const rows = createRows(service, 'desc');
    await readRow(rows, 0);
    expect(await readRow(rows, 24_000)).toBe('24000');
    expect(await readRow(rows, 12_345)).toBe('12345');
    rows.close();
  });
});

describe('a list by words', () => {
  const now = Date.UTC(2026, 5, 1, 12);
  const createRows = (service: Service) => {
    const list = { filter: { q: 'heron' }, order: 'created', dir: 'desc' } as const;
    return new Rows(service as unknown as Memories, list, undefined, () => {});
  };

  it('says that more match than were counted, and shows the rows that can be read', async () => {
    const service = new Service(Array.from({ length: 12_000 }, (_, i) => now - i * 1000));
    const rows = createRows(service);
    await readRow(rows, 0);
    expect([rows.total, rows.count, rows.hasMore]).toEqual([10_000, 10_000, true]);
    expect(await readRow(rows, 9_999)).toBe('9999');
    expect(service.growths).toEqual([]);
    rows.close();
  });

  it('counts the new memories, although more match than are counted', async () => {
    const service = new Service(Array.from({ length: 12_000 }, (_, i) => now - i * 1000));
    const rows = createRows(service);
    await readRow(rows, 0);
    service.times = [now + 2000, now + 1, ...service.times];
    await rows.refresh();
    expect([rows.newCount, rows.total, rows.hasMore]).toEqual([2, 10_000, true]);
    rows.close();
  });

  it('knows the exact number when no more match than are counted', async () => {
    const service = new Service(Array.from({ length: 10_001 }, (_, i) => now - i * 1000));
    const rows = createRows(service);
    await readRow(rows, 0);
    expect(rows.hasMore).toBe(true);
    service.times = service.times.slice(0, 10_000);
    await rows.refresh();
    expect([rows.total, rows.hasMore]).toEqual([10_000, false]);
    rows.close();
  });
});
