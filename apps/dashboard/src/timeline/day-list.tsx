import type { Memory } from '@memoryd/client';
import { useMemo } from 'preact/compat';
import { formatDate, formatMemories } from '../format.ts';
import { useSelection } from '../memories/selection.tsx';
import { MemoryText } from '../parts/labels.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { getOpenAddress, getSessionAddress } from '../route.ts';
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
  /** Newest first. */
  memories: Memory[];
  /** The memories of all sessions of the day, for the first session of a day. */
  ofDay: Memory[] | undefined;
}

type Loaded = readonly Memory[];

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
      key={getOpenAddress(undefined)}
      label="Days"
      items={rows}
      total={rows.length + (hasMore ? 1 : 0)}
      getKey={({ key }) => key}
      estimatePx={ROW_PX}
      onNearEnd={onNearEnd}
    >
      {(row) => <SessionRow row={row} loaded={memories} />}
    </VirtualList>
  );
}

function SessionRow({ row: { day, sessionId, userId, memories, ofDay }, loaded }: { row: DaySession; loaded: Loaded }) {
  const first = memories.at(-1) as Memory;
  const date = formatDate(new Date(day).toISOString());
  return (
    <div className="timeline-row">
      {ofDay && (
        <h3>
          <Check memories={ofDay} loaded={loaded} label={`Select ${date}`} />
          {date} <span className="soft">{formatMemories(ofDay.length)}</span>
        </h3>
      )}
      <div className="timeline-session">
        <Check memories={memories} loaded={loaded} label={`Select ${sessionId ?? 'distilled'} of ${date}`} />
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
        <span className="soft number">{memories.length}</span>
      </div>
    </div>
  );
}

/** A box that selects memories, or ends their selection. */
function Check({ memories, loaded, label }: { memories: Loaded; loaded: Loaded; label: string }) {
  const { isSelected, toggle } = useSelection();
  const count = memories.filter(isSelected).length;
  return (
    <label className="timeline-check">
      <input
        type="checkbox"
        aria-label={label}
        checked={count === memories.length}
        ref={(element: HTMLInputElement | null) => {
          if (element) element.indeterminate = count > 0 && count < memories.length;
        }}
        onChange={() => toggle(memories, loaded)}
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
      row = { key, day, sessionId, userId, memories: [], ofDay: isHead ? [] : undefined };
      if (isHead) head = row;
      rows.set(key, row);
    }
    row.memories.push(memory);
    head?.ofDay?.push(memory);
  }
  return [...rows.values()];
}
