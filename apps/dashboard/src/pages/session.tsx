import type { SessionMemory } from '@memoryd/client';
import { useMemo } from 'react';
import { clockTime, counted, day } from '../format.ts';
import { type AskPage, usePages } from '../pages.ts';
import { OwnerLinks, Tags } from '../parts/labels.tsx';
import { Failure, Nothing, Waiting } from '../parts/notice.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { getAddress } from '../place.ts';

const PAGE_ITEMS = 500;
const TURN_PX = 96;

/** One session as it went, oldest first. */
export function SessionPage({ asked }: { asked: URLSearchParams }) {
  const id = asked.get('id') ?? '';
  const ask = useMemo(
    (): AskPage<SessionMemory> => async (memory, cursor, signal) => {
      const page = { session_id: id, limit: PAGE_ITEMS, ...(cursor !== undefined && { cursor }) };
      const { memories, total, next_cursor } = await memory.session(page, { signal });
      return { items: memories, total, next: next_cursor };
    },
    [id],
  );
  const { items, total, begun, error, loadMore, retry } = usePages(ask);
  return (
    <>
      <header className="title">
        <p className="soft">
          <a href={getAddress('explore', { by: 'session' })}>Sessions</a>
        </p>
        <h1 className="long">{id}</h1>
        {begun && (
          <p className="soft" role="status">
            {counted(total, 'memory', 'memories')}, oldest first ·{' '}
            <a href={getAddress('explore', { session_id: id })}>as a list</a> ·{' '}
            <a href={getAddress('recall', { session_id: id })}>recall in it</a>
          </p>
        )}
      </header>
      {!begun && error === undefined && <Waiting what="the transcript" />}
      {begun && total === 0 && <Nothing title="Nobody stored anything into this session" />}
      {items.length > 0 && (
        <VirtualList
          label="Transcript"
          items={items}
          total={total}
          getKey={(turn) => turn.id}
          estimate={TURN_PX}
          onNearEnd={loadMore}
        >
          {(turn, index) => <Turn turn={turn} before={items[index - 1]} />}
        </VirtualList>
      )}
      {error !== undefined && <Failure error={error} onRetry={retry} />}
    </>
  );
}

const ROLE = 'role:';

/** One turn; its role is a tag (`role:user`). A new day is named. */
function Turn({ turn, before }: { turn: SessionMemory; before: SessionMemory | undefined }) {
  const { id, content, tags, created_at: at } = turn;
  const role = tags.find((tag) => tag.startsWith(ROLE))?.slice(ROLE.length);
  const today = day(at);
  return (
    <article className="turn">
      {(!before || day(before.created_at) !== today) && <h2 className="turn-day">{today}</h2>}
      <p className="turn-head">
        {role !== undefined && <b>{role}</b>} <a href={getAddress('memory', { id })}>{clockTime(at)}</a>
      </p>
      <p className="memory-text" dir="auto">
        {content}
      </p>
      <p className="meta">
        <OwnerLinks of={turn} />
      </p>
      <Tags tags={tags.filter((tag) => !tag.startsWith(ROLE))} />
    </article>
  );
}
