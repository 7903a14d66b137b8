import type { SessionSummary } from '@memoryd/client';
import { useMemo } from 'preact/compat';
import { changesLists } from '../events.ts';
import { parseFilter } from '../filter.ts';
import { formatCount, formatMemories, formatPeriod } from '../format.ts';
import { type LoadPage, usePages } from '../paging.ts';
import { FilterChips } from '../parts/filter-chips.tsx';
import { OwnerLinks } from '../parts/labels.tsx';
import { Nothing, Outdated } from '../parts/notice.tsx';
import { PagedList } from '../parts/paged-list.tsx';
import { getSessionAddress } from '../route.ts';
import { useStable } from '../stable.ts';

const PAGE_ITEMS = 200;
const SESSION_PX = 36;

/** Lists the sessions with memories that match the filters. */
export function SessionsPage({ params }: { params: URLSearchParams }) {
  return (
    <>
      <header className="title">
        <h1>Sessions</h1>
      </header>
      <FilterChips view="sessions" params={params} />
      <SessionList params={params} />
    </>
  );
}

function SessionList({ params }: { params: URLSearchParams }) {
  const filter = useStable(parseFilter(params));
  const load = useMemo((): LoadPage<SessionSummary> => {
    return async (memory, place, signal) => {
      const request = { ...filter, limit: PAGE_ITEMS, ...place };
      const { sessions, total, next_cursor } = await memory.sessions(request, { signal });
      return { items: sessions, total, next: next_cursor };
    };
  }, [filter]);
  const pages = usePages(load, changesLists);
  return (
    <>
      {pages.isLoaded && (
        <p role="status" className="soft results-count">
          {formatCount(pages.total, 'session')}, sorted by name
          {pages.isOutdated && <Outdated onReload={pages.retry} />}
        </p>
      )}
      <PagedList
        label="Sessions"
        what="sessions"
        empty={<Nothing title="No sessions match these filters" />}
        pages={pages}
        getKey={({ session_id, user_id }) => JSON.stringify([session_id, user_id])}
        estimatePx={SESSION_PX}
      >
        {(session) => <SessionRow session={session} />}
      </PagedList>
    </>
  );
}

function SessionRow({ session: { session_id, user_id, total, first_at, last_at } }: { session: SessionSummary }) {
  return (
    <div className="row session-line">
      <a className="ellipsis" href={getSessionAddress(session_id, user_id)} title={session_id}>
        {session_id}
      </a>
      <span className="meta">
        <OwnerLinks owner={user_id === undefined ? {} : { user_id }} />
      </span>
      <span className="soft number">{formatMemories(total)}</span>
      <span className="soft">{formatPeriod(first_at, last_at)}</span>
    </div>
  );
}
