import type { Memory, SessionSummary } from '@memoryd/client';
import { useMemo } from 'preact/compat';
import { parseFilter } from '../filter.ts';
import { formatCount, formatDateTime } from '../format.ts';
import { type LoadPage, usePages } from '../paging.ts';
import { FilterChips } from '../parts/filter-chips.tsx';
import { MemoryMeta, MemoryText, OwnerLinks, TierLabel } from '../parts/labels.tsx';
import { Failure, Loading, Nothing } from '../parts/notice.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { getAddress, getAddressInScope, getScope, getSessionAddress, goTo } from '../route.ts';
import type { Memories } from '../service.tsx';

const PAGE_ITEMS = 200;
const MEMORY_PX = 132;
const SESSION_PX = 62;

/** Lists the memories that match the filters, newest first, or their sessions. */
export function ExplorePage({ params }: { params: URLSearchParams }) {
  const showsSessions = params.get('by') === 'session';
  const getTabAddress = (bySession: boolean) => {
    const query = new URLSearchParams(params);
    if (bySession) query.set('by', 'session');
    else query.delete('by');
    return getAddress('explore', query);
  };
  return (
    <>
      <header className="title">
        <h1>Explore</h1>
        <nav className="tabs" aria-label="Memories or sessions">
          <a href={getTabAddress(false)} aria-current={showsSessions ? undefined : 'page'}>
            Memories
          </a>
          <a href={getTabAddress(true)} aria-current={showsSessions ? 'page' : undefined}>
            Sessions
          </a>
        </nav>
      </header>
      <FilterChips params={params} onChange={(changed) => goTo(getAddress('explore', changed))} />
      {showsSessions ? <SessionList params={params} /> : <MemoryList params={params} />}
    </>
  );
}

function MemoryList({ params }: { params: URLSearchParams }) {
  const load = useMemo((): LoadPage<Memory> => {
    const filter = parseFilter(params);
    return async (memory, cursor, signal) => {
      const { memories, total, next_cursor } = await memory.memories(getPageRequest(filter, cursor), { signal });
      return { items: memories, total, next: next_cursor };
    };
  }, [params]);
  const { items, total, isLoaded, error, loadMore, retry } = usePages(load);
  return (
    <>
      {!isLoaded && error === undefined && <Loading what="memories" />}
      {isLoaded && (
        <p role="status" className="soft results-count">
          {formatCount(total, 'memory', 'memories')}, newest first
        </p>
      )}
      {isLoaded && total === 0 && <NoMatches params={params} />}
      {items.length > 0 && (
        <VirtualList
          label="Memories"
          items={items}
          total={total}
          getKey={({ id }) => id}
          estimatePx={MEMORY_PX}
          onNearEnd={loadMore}
        >
          {(memory) => <MemoryRow memory={memory} />}
        </VirtualList>
      )}
      {error !== undefined && <Failure error={error} onRetry={retry} />}
    </>
  );
}

function getPageRequest<F>(filter: F, cursor: string | undefined): F & { limit: number; cursor?: string } {
  return { ...filter, limit: PAGE_ITEMS, ...(cursor !== undefined && { cursor }) };
}

function NoMatches({ params }: { params: URLSearchParams }) {
  if (Object.keys(parseFilter(params)).length > 0) {
    return (
      <Nothing title="No memories match these filters">
        <p>
          Remove a filter, or <a href={getAddress('explore')}>clear all filters</a>.
        </p>
      </Nothing>
    );
  }
  return getScope(params) ? (
    <Nothing title="No memories of this user or agent">
      <p>
        Choose another user or agent, or <a href={getAddressInScope(undefined, 'explore', params)}>show all</a>{' '}
        memories.
      </p>
    </Nothing>
  ) : (
    <Nothing title="No memories yet">
      <p>
        <a href={getAddress('')}>Store your first memory</a>
      </p>
    </Nothing>
  );
}

function MemoryRow({ memory }: { memory: Memory }) {
  return (
    <article className="row">
      <MemoryText id={memory.id} isClamped>
        {memory.content}
      </MemoryText>
      <MemoryMeta memory={memory}>
        <TierLabel tier={memory.tier} />
      </MemoryMeta>
    </article>
  );
}

function SessionList({ params }: { params: URLSearchParams }) {
  const load = useMemo((): LoadPage<SessionSummary> => {
    const filter = parseFilter(params);
    return async (memory: Memories, cursor, signal) => {
      const { sessions, total, next_cursor } = await memory.sessions(getPageRequest(filter, cursor), { signal });
      return { items: sessions, total, next: next_cursor };
    };
  }, [params]);
  const { items, total, isLoaded, error, loadMore, retry } = usePages(load);
  return (
    <>
      {!isLoaded && error === undefined && <Loading what="sessions" />}
      {isLoaded && (
        <p role="status" className="soft results-count">
          {formatCount(total, 'session')}, sorted by name
        </p>
      )}
      {isLoaded && total === 0 && <NoMatches params={params} />}
      {items.length > 0 && (
        <VirtualList
          label="Sessions"
          items={items}
          total={total}
          getKey={({ session_id, user_id }) => JSON.stringify([session_id, user_id])}
          estimatePx={SESSION_PX}
          onNearEnd={loadMore}
        >
          {(session) => <SessionRow session={session} />}
        </VirtualList>
      )}
      {error !== undefined && <Failure error={error} onRetry={retry} />}
    </>
  );
}

function SessionRow({ session: { session_id, user_id, total, first_at, last_at } }: { session: SessionSummary }) {
  return (
    <div className="row row-line">
      <span className="meta">
        <a href={getSessionAddress(session_id, user_id)}>{session_id}</a>
        <OwnerLinks owner={user_id === undefined ? {} : { user_id }} />
      </span>
      <span className="soft">{formatCount(total, 'memory', 'memories')}</span>
      <span className="soft">
        {formatDateTime(first_at)} – {formatDateTime(last_at)}
      </span>
    </div>
  );
}
