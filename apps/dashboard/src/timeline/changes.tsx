import type { MemoriesRequest, Memory } from '@memoryd/client';
import { useCallback } from 'preact/compat';
import { isNotFound } from '../errors.ts';
import { changesLists } from '../events.ts';
import { formatCount, formatNumber } from '../format.ts';
import { MemoryLink, MemoryText } from '../parts/labels.tsx';
import { Failure, Skeleton } from '../parts/notice.tsx';
import { useResource } from '../resource.ts';
import { getAddress, withoutParams } from '../route.ts';
import type { Memories } from '../service.tsx';
import { type Dates, formatDay, formatRange } from './periods.ts';

/** Memories that each list of changes shows. The days below list all that appeared. */
const MAX_APPEARED = 5;
const MAX_CHANGED = 20;
/** Memories that appeared which are searched for what they replaced. */
const MAX_SEARCHED = 200;

interface ChangesProps {
  /** The filter without dates, as JSON. */
  filter: string;
  params: URLSearchParams;
  /** The time of the changes. */
  dates: Dates;
  /** The memories that were created between the dates, if they are loaded already. */
  list?: { items: readonly Memory[]; total: number; isLoaded: boolean };
}

const toIso = (at: number): string => new Date(at).toISOString();

/** The memories that appeared, changed and ended between two dates. */
export function Changes({ filter, params, dates: { begin, end }, list }: ChangesProps) {
  const mustList = list === undefined;
  const load = useCallback(
    async (memory: Memories, signal: AbortSignal) => {
      const selection: MemoriesRequest = JSON.parse(filter);
      const fetch = (request: MemoriesRequest) => memory.memories({ limit: MAX_CHANGED, ...request }, { signal });
      const until = toIso(Number.isFinite(end) ? end : Date.now());
      const since = Number.isFinite(begin) ? toIso(begin) : undefined;
      const inTime = { ...(since !== undefined && { $gte: since }), $lte: until };
      const [appeared, changed, ended] = await Promise.all([
        mustList
          ? fetch({ ...selection, ...(since !== undefined && { since }), until, limit: MAX_SEARCHED })
          : undefined,
        // Before the first date, nothing had appeared that could change.
        since === undefined
          ? undefined
          : fetch(withCondition(selection, { updated_at: inTime, created_at: { $lt: since } })),
        fetch(withCondition(selection, { valid_to: inTime })),
      ]);
      return { appeared, changed, ended };
    },
    [filter, begin, end, mustList],
  );
  const { value, error, reload } = useResource(load, changesLists);
  const appeared = list?.isLoaded ? { memories: list.items, total: list.total } : value?.appeared;
  const from = Number.isFinite(begin) ? begin : undefined;
  const to = Number.isFinite(end) ? end : undefined;
  const title =
    from === undefined
      ? `Changes until ${formatDay(to ?? Date.now())}`
      : to === undefined
        ? `Changes since ${formatDay(from)}`
        : `Changes in ${formatRange(from, to)}`;
  const tableParams = withoutParams(params, 'view', 'step', 'stack', 'year', 'as_of', 'open');
  tableParams.set('since', toIso(from ?? 0));
  if (to !== undefined) tableParams.set('until', toIso(to));
  const changedParams = withoutParams(tableParams, 'since', 'until', 'dir');
  changedParams.set('order', 'changed');
  return (
    <section
      className="timeline-card timeline-changes"
      aria-label={title}
      aria-busy={value === undefined && error === undefined}
    >
      <h2>{title}</h2>
      <Failure error={error} onRetry={reload} />
      {value && appeared && (
        <div>
          <ChangeList
            title="Appeared"
            list={{ ...appeared, memories: appeared.memories.slice(0, MAX_APPEARED) }}
            more={getAddress('', tableParams)}
          />
          {value.changed && (
            <ChangeList title="Last changed" list={value.changed} more={getAddress('', changedParams)} />
          )}
          <Ended list={value.ended} appeared={appeared} />
        </div>
      )}
    </section>
  );
}

/** Adds a condition to those of the filter. */
function withCondition(selection: MemoriesRequest, condition: NonNullable<MemoriesRequest['filter']>): MemoriesRequest {
  const { filter } = selection;
  return { ...selection, filter: filter === undefined ? condition : { $and: [filter, condition] } };
}

interface Listed {
  memories: readonly Memory[];
  total: number;
}

interface ChangeListProps {
  title: string;
  list: Listed;
  /** The address of a table with all of the list. */
  more?: string;
  /** Returns the memory that replaced one of the list. */
  getNewer?: (memory: Memory) => Memory | undefined;
}

function ChangeList({ title, list: { memories, total }, more, getNewer }: ChangeListProps) {
  const rest = total - memories.length;
  return (
    <section aria-label={title}>
      <h3>
        {title} <span className="soft">{formatNumber(total)}</span>
      </h3>
      {total === 0 && <p className="soft">None</p>}
      <ul>
        {memories.map((memory) => (
          <li key={memory.id}>
            <MemoryText id={memory.id} isClamped>
              {memory.content}
            </MemoryText>
            {memory.superseded_by !== null && <Replacement id={memory.superseded_by} newer={getNewer?.(memory)} />}
          </li>
        ))}
      </ul>
      {more !== undefined && total > 0 && (
        <p className="timeline-more">
          <a href={more}>{rest > 0 ? `${formatCount(rest, 'other')} in the table` : 'Show in the table'}</a>
        </p>
      )}
      {more === undefined && rest > 0 && <p className="soft">and {formatCount(rest, 'other')}</p>}
    </section>
  );
}

/** The memories whose time ended, and those that one that appeared has replaced. */
function Ended({ list: { memories, total }, appeared }: { list: Listed; appeared: Listed }) {
  const newer = appeared.memories.filter(({ supersedes }) => supersedes !== null).slice(0, MAX_CHANGED);
  const known = new Set(memories.map(({ id }) => id));
  const missing = newer.flatMap(({ supersedes }) => (supersedes === null || known.has(supersedes) ? [] : [supersedes]));
  const key = missing.join();
  const load = useCallback(
    (memory: Memories, signal: AbortSignal) =>
      Promise.all(key.split(',').map((id) => memory.memory(id, { signal }).catch(toUndefinedIfMissing))),
    [key],
  );
  const { value, error, reload } = useResource(key === '' ? undefined : load);
  const replaced = key === '' ? [] : (value ?? []).filter((one) => one !== undefined);
  if (error !== undefined) return <Failure error={error} onRetry={reload} />;
  if (key !== '' && !value) return <Skeleton what="what ended" rows={3} />;
  return (
    <div>
      <ChangeList
        title="Ended"
        list={{ memories: [...memories, ...replaced], total: total + replaced.length }}
        getNewer={({ superseded_by: id }) => newer.find((one) => one.id === id)}
      />
      {appeared.memories.length < appeared.total && (
        <p className="soft note">
          Includes what the newest {formatNumber(appeared.memories.length)} of those that appeared have replaced.
        </p>
      )}
    </div>
  );
}

/** A memory that was replaced may be forgotten since. */
function toUndefinedIfMissing(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

function Replacement({ id, newer }: { id: string; newer: Memory | undefined }) {
  return (
    <div className="timeline-replacement soft">
      Now:{' '}
      {newer ? (
        <MemoryText id={id} isClamped>
          {newer.content}
        </MemoryText>
      ) : (
        <MemoryLink id={id} />
      )}
    </div>
  );
}
