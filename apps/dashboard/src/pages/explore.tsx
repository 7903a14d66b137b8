import type { Memory, SessionSummary } from '@memoryd/client';
import { useMemo } from 'react';
import { parseFilter } from '../filter.ts';
import { count, counted, moment } from '../format.ts';
import { type AskPage, usePages } from '../pages.ts';
import { FilterChips } from '../parts/filter-chips.tsx';
import { MemoryLink, OwnerLinks, Tags, TierLabel, When } from '../parts/labels.tsx';
import { Failure, Nothing, Waiting } from '../parts/notice.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { addressFor, getAddress, getScope, goTo, sessionAddress } from '../place.ts';
import type { Memories } from '../service.tsx';

const PAGE_ITEMS = 200;
const MEMORY_PX = 132;
const SESSION_PX = 62;

/** All memories, newest first, or the sessions that they are of, as far as the filters let them through. */
export function ExplorePage({ asked }: { asked: URLSearchParams }) {
  const bySession = asked.get('by') === 'session';
  const by = (session: boolean) => {
    const to = new URLSearchParams(asked);
    if (session) to.set('by', 'session');
    else to.delete('by');
    return getAddress('explore', to);
  };
  return (
    <>
      <header className="title">
        <h1>Explore</h1>
        <nav className="tabs" aria-label="What to list">
          <a href={by(false)} aria-current={bySession ? undefined : 'page'}>
            Memories
          </a>
          <a href={by(true)} aria-current={bySession ? 'page' : undefined}>
            Sessions
          </a>
        </nav>
      </header>
      <FilterChips asked={asked} onChange={(to) => goTo(getAddress('explore', to))} />
      {bySession ? <Sessions asked={asked} /> : <MemoryList asked={asked} />}
    </>
  );
}

function MemoryList({ asked }: { asked: URLSearchParams }) {
  const ask = useMemo((): AskPage<Memory> => {
    const filter = parseFilter(asked);
    return async (memory, cursor, signal) => {
      const { memories, total, next_cursor } = await memory.memories(getPage(filter, cursor), { signal });
      return { items: memories, total, next: next_cursor };
    };
  }, [asked]);
  const { items, total, begun, error, loadMore, retry } = usePages(ask);
  return (
    <>
      {!begun && error === undefined && <Waiting what="memories" />}
      {begun && (
        <p role="status" className="soft results-count">
          {counted(total, 'memory', 'memories')}, newest first
        </p>
      )}
      {begun && total === 0 && <NothingHere asked={asked} />}
      {items.length > 0 && (
        <VirtualList
          label="Memories"
          items={items}
          total={total}
          getKey={({ id }) => id}
          estimate={MEMORY_PX}
          onNearEnd={loadMore}
        >
          {(memory) => <MemoryRow memory={memory} />}
        </VirtualList>
      )}
      {error !== undefined && <Failure error={error} onRetry={retry} />}
    </>
  );
}

function getPage<F>(filter: F, cursor: string | undefined): F & { limit: number; cursor?: string } {
  return { ...filter, limit: PAGE_ITEMS, ...(cursor !== undefined && { cursor }) };
}

function NothingHere({ asked }: { asked: URLSearchParams }) {
  if (Object.keys(parseFilter(asked)).length > 0) {
    return (
      <Nothing title="Nothing passes these filters">
        <p>
          Take one away, or <a href={getAddress('explore')}>see all there is</a>.
        </p>
      </Nothing>
    );
  }
  return getScope(asked) ? (
    <Nothing title="No memory of this user or agent">
      <p>
        Choose another, or <a href={addressFor(undefined, 'explore', asked)}>show all</a>.
      </p>
    </Nothing>
  ) : (
    <Nothing title="No memory yet">
      <p>
        What is stored with <code>POST /store</code> shows up here.
      </p>
    </Nothing>
  );
}

function MemoryRow({ memory }: { memory: Memory }) {
  const { id, content, tier, session_id: session, source, tags, created_at: at } = memory;
  return (
    <article className="row">
      <p className="memory-text clamped" dir="auto">
        {content}
      </p>
      <div className="meta">
        <TierLabel tier={tier} />
        <MemoryLink id={id} />
        <When at={at} />
        <OwnerLinks of={memory} />
        {session !== null && <a href={sessionAddress(session, memory.user_id)}>{session}</a>}
        <a href={getAddress('explore', { source })}>from {source === '' ? 'nowhere' : source}</a>
        <Tags tags={tags} />
      </div>
    </article>
  );
}

function Sessions({ asked }: { asked: URLSearchParams }) {
  const ask = useMemo((): AskPage<SessionSummary> => {
    const filter = parseFilter(asked);
    return async (memory: Memories, cursor, signal) => {
      const { sessions, total, next_cursor } = await memory.sessions(getPage(filter, cursor), { signal });
      return { items: sessions, total, next: next_cursor };
    };
  }, [asked]);
  const { items, total, begun, error, loadMore, retry } = usePages(ask);
  return (
    <>
      {!begun && error === undefined && <Waiting what="sessions" />}
      {begun && (
        <p role="status" className="soft results-count">
          {counted(total, 'session')}, by name
        </p>
      )}
      {begun && total === 0 && <NothingHere asked={asked} />}
      {items.length > 0 && (
        <VirtualList
          label="Sessions"
          items={items}
          total={total}
          getKey={({ session_id, user_id }) => JSON.stringify([session_id, user_id])}
          estimate={SESSION_PX}
          onNearEnd={loadMore}
        >
          {({ session_id, user_id, total: held, first_at, last_at }) => (
            <div className="row row-line">
              <a href={sessionAddress(session_id, user_id)}>{session_id}</a>
              <OwnerLinks of={user_id === undefined ? {} : { user_id }} />
              <span className="soft">{count(held)}</span>
              <span className="soft">
                {moment(first_at)} to {moment(last_at)}
              </span>
            </div>
          )}
        </VirtualList>
      )}
      {error !== undefined && <Failure error={error} onRetry={retry} />}
    </>
  );
}
