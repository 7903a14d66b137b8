import type { SessionMemory } from '@memoryd/client';
import { useMemo } from 'preact/compat';
import { changesSession } from '../events.ts';
import { capitalize, formatDate, formatMemories, formatTime } from '../format.ts';
import { type LoadPage, usePages } from '../paging.ts';
import { MemoryText, OwnerLinks, Tags } from '../parts/labels.tsx';
import { Failure, Nothing, Outdated, Skeleton } from '../parts/notice.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { getAddress, getOpenAddress } from '../route.ts';

const PAGE_ITEMS = 500;
const TURN_PX = 96;

/** Shows the memories of a session as a transcript, oldest first. */
export function SessionPage({ params }: { params: URLSearchParams }) {
  const id = params.get('id') ?? '';
  const load = useMemo(
    (): LoadPage<SessionMemory> => async (memory, place, signal) => {
      const page = { session_id: id, limit: PAGE_ITEMS, ...place };
      const { memories, total, next_cursor } = await memory.session(page, { signal });
      return { items: memories, total, next: next_cursor };
    },
    [id],
  );
  const { items, total, isLoaded, isOutdated, error, loadMore, retry } = usePages(load, (event) =>
    changesSession(event, id),
  );
  return (
    <>
      <header className="title">
        <p className="soft">
          <a href={getAddress('sessions')}>Sessions</a>
        </p>
        <h1 className="long">{id}</h1>
        {isLoaded && (
          <p className="soft" role="status">
            {formatMemories(total)}, oldest first · <a href={getAddress('', { session_id: id })}>Show as list</a> ·{' '}
            <a href={getAddress('recall', { session_id: id })}>Recall in this session</a>
            {isOutdated && <Outdated onReload={retry} />}
          </p>
        )}
      </header>
      <Failure error={error} onRetry={retry} />
      {!isLoaded && error === undefined && <Skeleton what="the transcript" />}
      {isLoaded && total === 0 && <Nothing title="No memories in this session" />}
      {items.length > 0 && (
        <VirtualList
          label="Transcript"
          items={items}
          total={total}
          getKey={(turn) => turn.id}
          estimatePx={TURN_PX}
          onNearEnd={loadMore}
        >
          {(turn, index) => <Turn turn={turn} before={items[index - 1]} />}
        </VirtualList>
      )}
    </>
  );
}

const ROLE = 'role:';

/**
 * A turn of the transcript. A tag such as `role:user` names the speaker. The first turn of each day has a heading with
 * the date.
 */
function Turn({ turn, before }: { turn: SessionMemory; before: SessionMemory | undefined }) {
  const { id, content, tags, created_at: at } = turn;
  const role = tags.find((tag) => tag.startsWith(ROLE))?.slice(ROLE.length);
  const date = formatDate(at);
  return (
    <article className="turn">
      {(!before || formatDate(before.created_at) !== date) && <h2 className="turn-day">{date}</h2>}
      <p className="turn-head">
        {role !== undefined && <b>{capitalize(role)}</b>} <a href={getOpenAddress(id)}>{formatTime(at)}</a>
      </p>
      <MemoryText id={id}>{content}</MemoryText>
      <div className="meta">
        <OwnerLinks owner={turn} />
        <Tags tags={tags.filter((tag) => !tag.startsWith(ROLE))} />
      </div>
    </article>
  );
}
