import type { MemoryEvent, RememberedRecall } from '@memoryd/client';
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'preact/compat';
import { createEntries, type Entry, KINDS, type Kind } from '../activity/entries.ts';
import { MemoryTexts } from '../activity/texts.ts';
import { describeActor, describeEvent, describeRedaction, getProgramSession } from '../activity.ts';
import { useEvents } from '../events.ts';
import { formatMemories, formatNumber } from '../format.ts';
import { OwnerLinks, RelativeTime } from '../parts/labels.tsx';
import { Failure, Nothing, Notice } from '../parts/notice.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { useResource } from '../resource.ts';
import {
  getAddress,
  getAddressInScope,
  getOpenAddress,
  getScope,
  getSessionAddress,
  goTo,
  setParams,
} from '../route.ts';
import { type Memories, useService } from '../service.tsx';
import { useWatch } from '../watch.tsx';
import './activity.css';

/** Maximum events in memory, somewhat more than the service keeps for readers. */
const MAX_EVENTS = 2000;

/** Recalls that are loaded: the last ones. */
const MAX_RECALLS = 500;

const ENTRY_PX = 72;

const OTHER = 'Other';

/** Shows what happens in the service: stored and changed memories, questions, and what agents were given. */
export function ActivityPage({ params }: { params: URLSearchParams }) {
  const { memory, scopeKey } = useService();
  const { unreachableSince } = useWatch();
  const [events, setEvents] = useState<readonly MemoryEvent[]>([]);
  const texts = useMemo(() => new MemoryTexts(memory), [memory]);
  useEffect(() => () => texts.close(), [texts]);
  const recalls = useRecalls();
  const isFirst = useRef(true);
  useEvents(
    unreachableSince === undefined,
    (batch) => {
      // The first event is the gap before the events that the service still has.
      const added = isFirst.current && batch[0]?.type === 'gap' ? batch.slice(1) : batch;
      isFirst.current = false;
      for (const event of added) updateTexts(texts, event);
      setEvents((before) => [...before, ...added].slice(-MAX_EVENTS));
    },
    { fromBacklog: true },
  );
  const entries = useMemo(() => createEntries(events, recalls.list), [events, recalls.list]);
  const kind = params.get('kind');
  const program = params.get('program');
  const isShown = (entry: Entry) =>
    entry.kind === 'gap' ||
    ((kind === null || entry.kind === kind) && (program === null || (entry.program ?? OTHER) === program));
  const { isReading, listProps } = useReading();
  // While somebody reads the list, entries that arrive are only counted.
  const newest = entries[0]?.at ?? '';
  const shownUntil = useRef(newest);
  if (!isReading || shownUntil.current === '') shownUntil.current = newest;
  const [, rerender] = useState(0);
  const matching = entries.filter(isShown);
  const shown = matching.filter(({ at }) => at <= shownUntil.current);
  const newCount = matching.length - shown.length;
  return (
    <>
      <header className="title">
        <h1>Activity</h1>
        <p className="soft">What was stored, asked and given, newest first.</p>
      </header>
      <Filters params={params} entries={entries} />
      <Failure error={recalls.error} onRetry={recalls.reload} />
      {!recalls.isRemembered && (
        <Notice kind="plain">
          Questions are not shown, because the service does not log them (SERVICE_LOG_QUERIES).
        </Notice>
      )}
      {shown.length === 0 && (
        <Nothing title={entries.length === 0 ? 'No activity yet' : 'Nothing of this kind'}>
          <p>Stored, recalled, changed and forgotten memories appear here immediately, and what agents were given.</p>
        </Nothing>
      )}
      <div className="activity-list" {...listProps}>
        <p className="activity-news" role="status">
          {newCount > 0 && (
            <button
              type="button"
              onClick={() => {
                shownUntil.current = newest;
                rerender((before) => before + 1);
                scrollTo(0, 0);
              }}
            >
              {formatNumber(newCount)} new · show
            </button>
          )}
        </p>
        {shown.length > 0 && (
          <VirtualList
            key={`${kind} ${program} ${scopeKey}`}
            label="Activity"
            items={shown}
            total={shown.length}
            getKey={({ key }) => key}
            estimatePx={ENTRY_PX}
          >
            {(entry) => <EntryRow entry={entry} texts={texts} />}
          </VirtualList>
        )}
      </div>
    </>
  );
}

/** The last recalls that the service remembers. */
function useRecalls() {
  const load = useCallback(
    (memory: Memories, signal: AbortSignal) => memory.recalls({ limit: MAX_RECALLS }, { signal }),
    [],
  );
  const { value, error, reload } = useResource(load, isRecall);
  const isRemembered = value?.is_remembered ?? true;
  return { list: value?.is_remembered ? value.recalls : undefined, isRemembered, error, reload };
}

const isRecall = ({ type }: MemoryEvent): boolean => type === 'recalled';

/** Drops the texts of memories that an event has changed or forgotten. */
function updateTexts(texts: MemoryTexts, event: MemoryEvent): void {
  if (event.type === 'gap') texts.dropAll();
  if (event.type === 'updated') texts.drop(event.memory_ids);
  if (event.type !== 'forgotten') return;
  texts.forget(event.memory_ids);
  // The event does not name all forgotten memories.
  if (event.count > event.memory_ids.length) texts.dropAll();
}

/** Whether somebody reads a list: the pointer or the focus is in it, or the page is scrolled. */
function useReading() {
  const [hasPointer, setHasPointer] = useState(false);
  const [hasFocus, setHasFocus] = useState(false);
  const isScrolled = useSyncExternalStore(subscribeToScroll, () => scrollY > 0);
  const listProps = {
    onPointerEnter: (event: PointerEvent) => setHasPointer(event.pointerType === 'mouse'),
    onPointerLeave: () => setHasPointer(false),
    onFocusCapture: () => setHasFocus(true),
    onBlurCapture: () => setHasFocus(false),
  };
  return { isReading: hasPointer || hasFocus || isScrolled, listProps };
}

function subscribeToScroll(onChange: () => void): () => void {
  addEventListener('scroll', onChange, { passive: true });
  return () => removeEventListener('scroll', onChange);
}

/** Filters by kind, user and program. All are stored in the address. */
function Filters({ params, entries }: { params: URLSearchParams; entries: readonly Entry[] }) {
  const { hasKey } = useService();
  const kind = params.get('kind');
  const program = params.get('program') ?? '';
  const userId = getScope(params)?.userId ?? '';
  const programs = new Set(entries.map((entry) => entry.program ?? OTHER));
  if (program !== '') programs.add(program);
  const users = new Set(entries.flatMap(({ event, recall }) => getUserId(event ?? recall) ?? []));
  if (userId !== '') users.add(userId);
  return (
    <div className="activity-filters">
      <fieldset className="kinds">
        <legend className="hidden">Kind</legend>
        <button type="button" aria-pressed={kind === null} onClick={() => setParams({ kind: undefined })}>
          All
        </button>
        {(Object.keys(KINDS) as Kind[]).map((name) => (
          <button key={name} type="button" aria-pressed={kind === name} onClick={() => setParams({ kind: name })}>
            {KINDS[name]}
          </button>
        ))}
      </fieldset>
      <Choice
        label="User"
        every={hasKey && userId === '' ? 'All users of the key' : 'All users'}
        values={[...users].sort()}
        value={userId}
        onChoose={(chosen) =>
          goTo(getAddressInScope(chosen === '' ? undefined : { userId: chosen }, 'activity', params))
        }
      />
      <Choice
        label="Program"
        every="All programs"
        values={[...programs].sort()}
        value={program}
        onChoose={(chosen) => setParams({ program: chosen })}
      />
    </div>
  );
}

interface ChoiceProps {
  label: string;
  every: string;
  values: readonly string[];
  value: string;
  onChoose: (value: string) => void;
}

function Choice({ label, every, values, value, onChoose }: ChoiceProps) {
  return (
    <select aria-label={label} value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
      <option value="">{every}</option>
      {values.map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </select>
  );
}

const getUserId = (of: MemoryEvent | RememberedRecall | undefined): string | undefined =>
  of !== undefined && 'user_id' in of ? of.user_id : undefined;

/** Memories that an entry shows with their texts. */
const MAX_SHOWN = 3;

function EntryRow({ entry, texts }: { entry: Entry; texts: MemoryTexts }) {
  const { event, recall, kind, at } = entry;
  const redaction = event && describeRedaction(event);
  return (
    <article className={`entry entry-${kind}`}>
      <p className="entry-head">
        <span>{recall ? <RecallHead recall={recall} event={event} /> : event && describeEvent(event)}</span>
        <span className="meta">
          <EntryLinks entry={entry} />
          <RelativeTime at={at} />
        </span>
      </p>
      {redaction !== undefined && <p className="soft note">{redaction}</p>}
      <EntryMemories entry={entry} texts={texts} />
    </article>
  );
}

function RecallHead({ recall, event }: { recall: RememberedRecall; event: MemoryEvent | undefined }) {
  const { query, kind, count, session_id } = recall;
  const memories = count === 0 ? 'nothing' : formatMemories(count);
  const question = query !== '' && (
    <a href={getAddress('recall', { query })} dir="auto">
      “{query}”
    </a>
  );
  if (kind === 'recall') {
    return (
      <>
        {question} returned {memories}
      </>
    );
  }
  const acted = event && 'memory_ids' in event ? event : { ...(session_id !== undefined && { session_id }) };
  return (
    <>
      {describeActor(acted) ?? 'An agent'} was given {memories}
      {question && <> for {question}</>}
    </>
  );
}

function EntryLinks({ entry: { event, recall } }: { entry: Entry }) {
  const owner = recall ?? event;
  const session = event === undefined ? recall?.session_id : (getProgramSession(event) ?? recall?.session_id);
  return (
    <>
      {owner !== undefined &&
        ('memory_ids' in owner || 'results' in owner || ('type' in owner && owner.type === 'import')) && (
          <OwnerLinks owner={owner} />
        )}
      {session !== undefined && <a href={getSessionAddress(session, getUserId(owner))}>Show session</a>}
      {event?.type === 'consolidation' && event.run_id !== undefined && (
        <a href={getAddress('run', { id: event.run_id })}>Show run</a>
      )}
    </>
  );
}

function EntryMemories({ entry: { event, recall, kind }, texts }: { entry: Entry; texts: MemoryTexts }) {
  // A forgotten memory has no text, and its id leads nowhere.
  if (kind === 'forgotten') return null;
  const memories: readonly { memory_id: string; score?: number }[] =
    recall?.results ?? (event && 'memory_ids' in event ? event.memory_ids.map((memory_id) => ({ memory_id })) : []);
  const count = recall?.count ?? (event && 'count' in event ? event.count : 0);
  const shown = memories.slice(0, MAX_SHOWN);
  if (shown.length === 0) return null;
  return (
    <ul className="entry-memories">
      {shown.map(({ memory_id: id, score }) => (
        <li key={id}>
          {score !== undefined && <span className="soft entry-score">{score.toFixed(2)}</span>}
          <EntryText id={id} texts={texts} />
        </li>
      ))}
      {count > shown.length && <li className="soft">and {formatNumber(count - shown.length)} more</li>}
    </ul>
  );
}

function EntryText({ id, texts }: { id: string; texts: MemoryTexts }) {
  const text = useSyncExternalStore(texts.subscribe, () => texts.get(id));
  useEffect(() => {
    texts.want(id);
  });
  useEffect(() => () => texts.leave(id), [id, texts]);
  if (text === undefined) return <span className="soft">Loading…</span>;
  if (text === null) return <span className="soft">No longer available</span>;
  return (
    <a className="entry-text" href={getOpenAddress(id)} title={id} dir="auto">
      {text}
    </a>
  );
}
