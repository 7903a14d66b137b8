import type { MemoriesRequest, MemoriesResponse, Memory } from '@memoryd/client';
import { MAX_GROWTH_MOMENTS, MAX_OFFSET } from '@memoryd/contract/limits';
import type { ListFilter } from '../filter.ts';
import type { Memories } from '../service.tsx';
import { type CreatedCount, findAnchor, type ReadFrom } from './anchors.ts';

/** Rows of one request. */
const PAGE_ROWS = 100;
/** Maximum number of pages in memory; the ones that were seen longest ago are dropped. */
const MAX_PAGES = 60;
/** Maximum number of requests at the same time. Browsers allow six connections, of which the page needs others. */
const MAX_REQUESTS = 3;
/** Rows before and after the visible ones that are loaded too. */
const AHEAD_ROWS = 40;
/** Minimum time between two loads while the table is scrolled fast. */
const SCROLL_INTERVAL_MS = 80;

export type Order = NonNullable<MemoriesRequest['order']>;
export type Direction = NonNullable<MemoriesRequest['dir']>;

/** The memories of a table. */
export interface RowList {
  filter: ListFilter;
  order: Order;
  dir: Direction;
}

/** A state of a list in which its rows keep their places: without the memories that were stored later. */
export interface Snapshot {
  /** Creation time of the newest memory. Undefined while the list is empty or not loaded. */
  until: string | undefined;
  total: number;
}

interface LoadedPage {
  rows: readonly Memory[];
  /** Whether memories have changed since the page was loaded. */
  isStale: boolean;
}

/**
 * The rows of a table of any length. Loads the pages that are shown, aborts requests for pages that no longer are, and
 * keeps a limited number of pages. Memories that are stored while the table is open are counted, and appear on request.
 */
export class Rows {
  /** Number of memories that match; undefined until the first page is loaded. */
  total: number | undefined;
  /** Whether more than `total` match, which were not counted and cannot be shown. */
  hasMore = false;
  /** Number of memories that were stored since the rows were loaded. */
  newCount = 0;
  /** Number of memories that were ordered, if not all were. */
  orderedCount: number | undefined;
  /** Error of the last request; undefined after a successful one. */
  error: unknown;
  /** Increases with every change. */
  version = 0;

  readonly #memory: Memories;
  readonly #list: RowList;
  readonly #onError: (error: unknown) => void;
  readonly #listeners = new Set<() => void>();
  readonly #pages = new Map<number, LoadedPage>();
  readonly #pending = new Map<number, AbortController>();
  readonly #closing = new AbortController();
  #until: string | undefined;
  #counts: CreatedCount[] = [];
  /** The request for the counts by day. */
  #days: Promise<void> | undefined;
  #wanted: number[] = [0];
  #loadTimer: ReturnType<typeof setTimeout> | undefined;
  #lastLoadAt = 0;
  #isRefreshing = false;
  /** Whether the rows are as they were before, and memories may have changed since. */
  #isRestored: boolean;

  /** @param snapshot the state to show again, such as after the browser's Back */
  constructor(memory: Memories, list: RowList, snapshot: Snapshot | undefined, onError: (error: unknown) => void) {
    this.#memory = memory;
    this.#list = list;
    this.#until = snapshot?.until;
    this.#isRestored = snapshot !== undefined;
    this.#onError = onError;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Ends all requests. */
  close(): void {
    clearTimeout(this.#loadTimer);
    this.#closing.abort();
    for (const controller of this.#pending.values()) controller.abort();
  }

  get snapshot(): Snapshot | undefined {
    return this.total === undefined ? undefined : { until: this.#until, total: this.total };
  }

  /** Number of rows that can be shown: in a list that is not ordered by creation, those up to the largest offset. */
  get count(): number {
    const total = this.total ?? 0;
    return this.#list.order === 'created' ? total : Math.min(total, this.orderedCount ?? total, MAX_OFFSET);
  }

  /** Whether a request is under way whose response may lack a change. */
  get isLoading(): boolean {
    return this.#isRefreshing || this.#pending.size > 0;
  }

  getRow(index: number): Memory | undefined {
    return this.#pages.get(Math.floor(index / PAGE_ROWS))?.rows[index % PAGE_ROWS];
  }

  /** Returns the index of a loaded memory; undefined if it is not loaded. */
  findIndex(id: string): number | undefined {
    for (const [page, { rows }] of this.#pages) {
      const found = rows.findIndex((row) => row.id === id);
      if (found >= 0) return page * PAGE_ROWS + found;
    }
    return undefined;
  }

  getLoaded(): Memory[] {
    return [...this.#pages.values()].flatMap(({ rows }) => rows);
  }

  /** Returns the ids of a range of rows. Loads those that are not loaded, one page after the other. */
  async fetchIds(first: number, last: number): Promise<string[]> {
    const ids: string[] = [];
    for (let page = Math.floor(first / PAGE_ROWS); page <= Math.floor(last / PAGE_ROWS); page++) {
      const rows = this.#pages.get(page)?.rows ?? (await this.#fetchPage(page, this.#closing.signal)).memories;
      const start = page * PAGE_ROWS;
      ids.push(...rows.slice(Math.max(0, first - start), last - start + 1).map(({ id }) => id));
    }
    return ids;
  }

  /** Loads the rows of a range, and aborts the requests for others. */
  show(first: number, last: number): void {
    const from = Math.floor(Math.max(0, first - AHEAD_ROWS) / PAGE_ROWS);
    const to = Math.floor(Math.max(0, last + AHEAD_ROWS) / PAGE_ROWS);
    // The visible rows come first.
    const visible = Math.floor(Math.max(0, first) / PAGE_ROWS);
    this.#wanted = Array.from({ length: to - from + 1 }, (_, i) => from + i).sort(
      (a, b) => Math.abs(a - visible) - Math.abs(b - visible),
    );
    for (const [page, controller] of this.#pending) if (!this.#wanted.includes(page)) controller.abort();
    clearTimeout(this.#loadTimer);
    const waitMs = this.#lastLoadAt + SCROLL_INTERVAL_MS - Date.now();
    if (waitMs <= 0) this.#load();
    else this.#loadTimer = setTimeout(() => this.#load(), waitMs);
  }

  /** Loads again after an error. */
  retry(): void {
    this.error = undefined;
    this.#change();
    this.#load();
  }

  /** Shows the memories that were stored since the rows were loaded. */
  showNew(): void {
    this.#until = undefined;
    this.newCount = 0;
    this.#restart();
    this.#load();
  }

  /** Loads the shown rows again, and counts the new memories. Call it when memories may have changed. */
  async refresh(): Promise<void> {
    for (const page of this.#pages.values()) page.isStale = true;
    if (this.#isRefreshing || this.total === undefined) return;
    this.#isRefreshing = true;
    const { signal } = this.#closing;
    try {
      const count = (times: Pick<MemoriesRequest, 'since' | 'until'>) =>
        this.#memory.memories({ ...this.#list.filter, ...times, limit: 1 }, { signal });
      if (this.#until === undefined) {
        // The list was empty.
        if ((await count({})).total !== this.total) this.#restart();
      } else {
        const since = new Date(Date.parse(this.#until) + 1).toISOString();
        const [newer, known] = await Promise.all([count({ since }), count({ until: this.#until })]);
        this.newCount = newer.total;
        this.#setTotal(known);
      }
      this.error = undefined;
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
    }
    this.#change();
    this.#isRefreshing = false;
    this.#load();
  }

  #restart(): void {
    for (const controller of this.#pending.values()) controller.abort();
    for (const page of this.#pages.values()) page.isStale = true;
    this.#pending.clear();
    this.#dropCounts();
  }

  #setTotal({ total, counted_count }: Pick<MemoriesResponse, 'total' | 'counted_count'>): void {
    this.hasMore = counted_count !== undefined;
    if (total === this.total) return;
    if (this.total !== undefined) for (const page of this.#pages.values()) page.isStale = true;
    this.total = total;
    this.#dropCounts();
    for (const page of this.#pages.keys()) if (page * PAGE_ROWS >= total) this.#pages.delete(page);
  }

  #load(): void {
    if (this.error !== undefined || this.#closing.signal.aborted) return;
    this.#lastLoadAt = Date.now();
    // The first response gives the total, without which rows beyond the largest offset cannot be read.
    const wanted =
      this.total === undefined
        ? [this.#wanted.find((page) => page * PAGE_ROWS <= MAX_OFFSET) ?? 0]
        : this.#wanted.filter((page) => page === 0 || page * PAGE_ROWS < this.count);
    for (const page of wanted) {
      if (this.#pending.size >= MAX_REQUESTS) return;
      if (this.#pages.get(page)?.isStale !== false && !this.#pending.has(page)) void this.#loadPage(page);
    }
  }

  async #loadPage(page: number): Promise<void> {
    const controller = new AbortController();
    const { signal } = controller;
    this.#pending.set(page, controller);
    try {
      const isFirstLoad = this.#until === undefined;
      const [response, newest] = await Promise.all([
        this.#fetchPage(page, signal),
        isFirstLoad ? this.#fetchNewest(page, signal) : undefined,
      ]);
      if (signal.aborted) return;
      const { memories, counts } = response;
      if (isFirstLoad) this.#until = (newest ?? response.memories)[0]?.created_at;
      if (counts) {
        this.#setTotal(counts);
        this.orderedCount = counts.ordered_count;
      }
      this.#pages.delete(page);
      this.#pages.set(page, { rows: memories, isStale: false });
      this.error = undefined;
      this.#dropPages();
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
    } finally {
      if (this.#pending.get(page) === controller) this.#pending.delete(page);
    }
    this.#change();
    this.#load();
    if (this.#isRestored && this.#pending.size === 0 && this.total !== undefined) {
      this.#isRestored = false;
      void this.refresh();
    }
  }

  /** Returns the newest memory of the list, unless the page begins with it. */
  async #fetchNewest(page: number, signal: AbortSignal): Promise<Memory[] | undefined> {
    const { filter, order, dir } = this.#list;
    if (page === 0 && order === 'created' && dir === 'desc') return undefined;
    return (await this.#memory.memories({ ...filter, limit: 1 }, { signal })).memories;
  }

  /** Fetches a page. Returns no counts if the page is read from a creation time. */
  async #fetchPage(page: number, signal: AbortSignal) {
    const { filter, order, dir } = this.#list;
    const index = page * PAGE_ROWS;
    const { offset, ...times } = order === 'created' ? await this.#findStart(index, signal) : { offset: index };
    const { memories, ...counts } = await this.#memory.memories(
      {
        ...filter,
        ...(this.#until !== undefined && { until: this.#until }),
        ...times,
        ...(order !== 'created' && { order }),
        ...(dir !== 'desc' && { dir }),
        ...(offset > 0 && { offset }),
        limit: PAGE_ROWS,
      },
      { signal },
    );
    const isWhole = Object.keys(times).length === 0;
    return { memories, counts: isWhole ? counts : undefined };
  }

  async #findStart(index: number, signal: AbortSignal): Promise<ReadFrom> {
    const { filter, dir } = this.#list;
    // Another request may change the total and the counts meanwhile.
    while (index > MAX_OFFSET && this.#until !== undefined && this.total !== undefined) {
      const { total } = this;
      this.#days ??= this.#countDays(this.#until, total);
      await this.#days;
      signal.throwIfAborted();
      if (total !== this.total) continue;
      const counts = this.#counts;
      const limits = { maxOffset: MAX_OFFSET, maxTimes: MAX_GROWTH_MOMENTS };
      const found = findAnchor({ index, total, dir, counts, ...limits });
      if ('offset' in found) return found;
      // More memories than the largest offset were created on one day.
      const growth_at = found.times.map((at) => new Date(at).toISOString());
      const { growth = [] } = await this.#memory.memories({ ...filter, growth_at, limit: 1 }, { signal });
      const counted = growth.map((point) => ({
        at: Date.parse(point.at),
        count: point.working_count + point.episodic_count + point.semantic_count,
      }));
      if (total === this.total) this.#counts = [...counts, ...counted].sort((a, b) => a.at - b.at);
    }
    return { offset: index };
  }

  /** Counts the memories by day. With these counts, any row can be read. */
  async #countDays(until: string, total: number): Promise<void> {
    const [first, last] = [
      { at: 0, count: 0 },
      { at: Date.parse(until), count: total },
    ];
    this.#counts = [first, last];
    const request = { ...this.#list.filter, until, step: 'day', timezone: 'UTC' } as const;
    try {
      const growth = await this.#memory.growth(request, { signal: this.#closing.signal });
      // Counts from before a change do not lead to the right rows.
      if (growth.total !== total || total !== this.total) return;
      let count = total - growth.steps.reduce((sum, step) => sum + step.count, 0);
      const days: CreatedCount[] = [];
      for (const step of growth.steps) {
        days.push({ at: Date.parse(step.from) - 1, count });
        count += step.count;
      }
      this.#counts = [first, ...days, last];
    } catch (error) {
      this.#days = undefined;
      throw error;
    }
  }

  #dropCounts(): void {
    this.#counts = [];
    this.#days = undefined;
  }

  #dropPages(): void {
    for (const page of this.#pages.keys()) {
      if (this.#pages.size <= MAX_PAGES) return;
      if (!this.#wanted.includes(page)) this.#pages.delete(page);
    }
  }

  #fail(error: unknown): void {
    this.#onError(error);
    this.error = error;
  }

  #change(): void {
    this.version++;
    for (const listener of this.#listeners) listener();
  }
}
