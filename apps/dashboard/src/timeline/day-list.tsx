import type { Memory } from '@memoryd/client';
import { useMemo } from 'preact/compat';
import { formatDate, formatMemories } from '../format.ts';
import { useSelection } from '../memories/selection.tsx';
import { MemoryText } from '../parts/labels.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { getListAddress, getSessionAddress } from '../route.ts';
import { getBegin } from './periods.ts';

/** Height of a row in pixels until it is measured. */
const ROW_PX = 57;

/** The memories of one session on one day. */
interface DaySession {
  key: string;
  /** Beginning of the day, ms since 1970. */
  day: number;
  sessionId: string | null;
  userId: string | undefined;
  /** The earliest of the loaded memories. */
  first: Memory;
  ids: string[];
  /** The memories of all sessions of the day, for the first session of a day. */
  dayIds: string[] | undefined;
}

interface DayListProps {
  /** Newest first. */
  memories: readonly Memory[];
  hasMore: boolean;
  onNearEnd: () => void;
}

/** The days of the chosen dates, newest first, with the first words of each session. */
export function DayList({ memories, hasMore, onNearEnd }: DayListProps) {
  const rows = useMemo(() => groupByDay(memories), [memories]);
  return (
    <VirtualList
      key={getListAddress()}
      label="Days"
      items={rows}
      total={rows.length + (hasMore ? 1 : 0)}
      getKey={({ key }) => key}
      estimatePx={ROW_PX}
      onNearEnd={onNearEnd}
    >
      {(row) => <SessionRow row={row} />}
    </VirtualList>
  );
}

function SessionRow({ row: { day, sessionId, userId, first, ids, dayIds } }: { row: DaySession }) {
  const date = formatDate(new Date(day).toISOString());
  return (
    <div className="timeline-row">
      {dayIds && (
        <h3>
          <Check ids={dayIds} label={`Select ${date}`} />
          {date} <span className="soft">{formatMemories(dayIds.length)}</span>
        </h3>
      )}
      <div className="timeline-session">
        <Check ids={ids} label={`Select ${sessionId ?? 'distilled'} of ${date}`} />
        <MemoryText id={first.id} isClamped>
          {first.content}
        </MemoryText>
        <span className="soft timeline-session-name">
          {sessionId === null ? (
            'No session'
          ) : (
            <a href={getSessionAddress(sessionId, userId)} title={sessionId}>
              {sessionId}
            </a>
          )}
        </span>
        <span className="soft number">{ids.length}</span>
      </div>
    </div>
  );
}

/** A box that selects memories, or ends their selection. */
function Check({ ids, label }: { ids: readonly string[]; label: string }) {
  const { isSelected, selected, select } = useSelection();
  const count = ids.filter(isSelected).length;
  const change = (isChecked: boolean) => {
    const others = selected.kind === 'ids' ? [...selected.ids] : [];
    select(isChecked ? [...others, ...ids] : others.filter((id) => !ids.includes(id)));
  };
  return (
    <label className="timeline-check">
      <input
        type="checkbox"
        aria-label={label}
        checked={count === ids.length}
        ref={(element: HTMLInputElement | null) => {
          if (element) element.indeterminate = count > 0 && count < ids.length;
        }}
        onChange={(event) => change(event.currentTarget.checked)}
      />
    </label>
  );
}

/** Groups memories, which are ordered newest first, by day and session. */
function groupByDay(memories: readonly Memory[]): DaySession[] {
  const rows = new Map<string, DaySession>();
  let head: DaySession | undefined;
  for (const memory of memories) {
    const day = getBegin(Date.parse(memory.created_at), 'day');
    const { session_id: sessionId, user_id: userId } = memory;
    const key = JSON.stringify([day, sessionId, userId]);
    let row = rows.get(key);
    if (!row) {
      const isHead = head?.day !== day;
      row = { key, day, sessionId, userId, first: memory, ids: [], dayIds: isHead ? [] : undefined };
      if (isHead) head = row;
      rows.set(key, row);
    }
    row.first = memory;
    row.ids.push(memory.id);
    head?.dayIds?.push(memory.id);
  }
  return [...rows.values()];
}
