import type { GrowthRequest, Memory } from '@memoryd/client';
import { useCallback, useEffect, useMemo, useRef } from 'preact/compat';
import { changesLists, changesMemories } from '../events.ts';
import { type ListFilter, parseListFilter } from '../filter.ts';
import { capitalize, formatMemories } from '../format.ts';
import { NoMemories } from '../memories/no-memories.tsx';
import { type LoadPage, usePages } from '../paging.ts';
import { Failure, Nothing, Outdated, Skeleton } from '../parts/notice.tsx';
import { useResource } from '../resource.ts';
import { getAddress, setParams, withoutParams } from '../route.ts';
import type { Memories } from '../service.tsx';
import { useEventListener } from '../watch.tsx';
import { AsOf } from './as-of.tsx';
import { Calendar } from './calendar.tsx';
import { Changes } from './changes.tsx';
import { Chart } from './chart.tsx';
import { DayList } from './day-list.tsx';
import {
  type Dates,
  formatDay,
  formatRange,
  getBegin,
  getNext,
  getReadableStep,
  type Period,
  parseDates,
  STEPS,
  type Step,
  toDates,
} from './periods.ts';
import './timeline.css';

/** The fields by which the bars can be stacked. */
const FIELDS = ['tier', 'source', 'tag'] as const satisfies readonly GrowthRequest['field'][];
type Field = (typeof FIELDS)[number];

const PAGE_ITEMS = 200;
/** Time in ms for which the service keeps counts, in which they do not have new memories. */
const COUNTS_KEPT_MS = 10_500;

const TIMEZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Shows the memories that match the filters by the time at which they were created. The address stores the choices. */
export function Timeline({ params }: { params: URLSearchParams }) {
  const selection = JSON.stringify(parseListFilter(params));
  // The bars show all times, so that other dates can be chosen.
  const filter = JSON.stringify(withoutDates(JSON.parse(selection)));
  const field = FIELDS.find((one) => one === params.get('stack')) ?? 'tier';
  const growth = useGrowth(filter, field);
  const days = growth.value;
  const step = STEPS.find((one) => one === params.get('step')) ?? (days ? getReadableStep(days) : 'day');
  const dates = parseDates(params);
  const heldAt = params.get('as_of');
  const chooseDates = (first: Period, last: Period) => setParams(toDates(first, last), { replace: false });
  const clearDates = () => {
    if (dates) setParams({ since: undefined, until: undefined }, { replace: false });
  };
  const failure = growth.error !== undefined && <Failure error={growth.error} onRetry={growth.reload} />;
  // Loads beside the bars, and again for other dates.
  const below = (
    <Below
      key={selection}
      selection={selection}
      filter={filter}
      params={params}
      step={step}
      failed={growth.error !== undefined}
    />
  );
  if (!days) {
    return (
      <div className="timeline">
        {failure || <Skeleton what="the timeline" rows={12} />}
        {below}
      </div>
    );
  }
  const first = days.steps[0];
  if (!first) return failure || <NoMemories params={params} onStored={growth.reload} />;
  return (
    <div className="timeline">
      {failure}
      <Tools step={step} field={field} dates={dates} onClear={clearDates} />
      <Chart growth={days} step={step} field={field} dates={dates} onChoose={chooseDates} onClear={clearDates} />
      <Calendar
        growth={days}
        year={Number(params.get('year')) || undefined}
        onYear={(year) => setParams({ year: String(year) })}
        dates={dates}
        onChoose={chooseDates}
        onClear={clearDates}
      />
      <AsOf
        first={getBegin(Date.parse(first.from), 'day')}
        chosen={heldAt}
        // A time and “holds now” exclude each other.
        onChange={(time) => setParams({ as_of: time, current: undefined }, { replace: heldAt !== null })}
      />
      {below}
    </div>
  );
}

function withoutDates({ since: _since, until: _until, as_of: _asOf, ...filter }: ListFilter): ListFilter {
  return filter;
}

/** Loads the days of the bars and the calendar; weeks and months are added up from them. */
function useGrowth(filter: string, field: Field) {
  const load = useCallback(
    (memory: Memories, signal: AbortSignal) =>
      memory.growth({ ...JSON.parse(filter), step: 'day', field, timezone: TIMEZONE }, { signal }),
    [filter, field],
  );
  const growth = useResource(load, changesMemories);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEventListener((events) => {
    if (timer.current !== undefined || !events.some(changesLists)) return;
    timer.current = setTimeout(() => {
      timer.current = undefined;
      growth.reload();
    }, COUNTS_KEPT_MS);
  });
  return growth;
}

function useList(selection: string) {
  const load = useMemo(
    (): LoadPage<Memory> => async (memory, place, signal) => {
      const page = { limit: PAGE_ITEMS, ...place };
      const { memories, total, next_cursor } = await memory.memories({ ...JSON.parse(selection), ...page }, { signal });
      return { items: memories, total, next: next_cursor };
    },
    [selection],
  );
  return usePages(load, changesLists);
}

interface BelowProps {
  /** The filter with dates, and without, as JSON. */
  selection: string;
  filter: string;
  params: URLSearchParams;
  step: Step;
  /** Whether an error is shown above. */
  failed: boolean;
}

/** The parts that depend on the chosen dates: the changes and the days. */
function Below({ selection, filter, params, step, failed }: BelowProps) {
  const list = useList(selection);
  const dates = parseDates(params);
  const heldAt = params.get('as_of');
  return (
    <>
      {list.error !== undefined && !failed && <Failure error={list.error} onRetry={list.retry} />}
      {(list.isLoaded || list.error === undefined) && (
        <>
          {heldAt !== null && (
            <Held filter={filter} heldAt={heldAt} params={params} hasDates={dates !== undefined} list={list} />
          )}
          <ShownChanges filter={filter} params={params} dates={dates} heldAt={heldAt} step={step} list={list} />
        </>
      )}
      <Days list={list} hasDates={dates !== undefined} hasTime={heldAt !== null} />
    </>
  );
}

interface DaysProps {
  list: ReturnType<typeof useList>;
  /** Whether the address has dates, and a time. */
  hasDates: boolean;
  hasTime: boolean;
}

function Days({ list, hasDates, hasTime }: DaysProps) {
  return (
    <section className="timeline-days" aria-labelledby="timeline-days">
      <div className="timeline-head">
        <h2 id="timeline-days">Days</h2>
        {list.isLoaded && (
          <p role="status" className="soft">
            {formatMemories(list.total)}
            {hasTime && ' that held then'}
            {list.isOutdated && <Outdated onReload={list.retry} />}
          </p>
        )}
      </div>
      {!list.isLoaded && list.error === undefined && <Skeleton what="the days" />}
      {list.isLoaded && list.total === 0 && (hasDates || hasTime) && (
        <Nothing title={hasDates ? 'No memories in these dates' : 'No memories held then'} />
      )}
      {list.items.length > 0 && (
        <DayList memories={list.items} hasMore={list.items.length < list.total} onNearEnd={list.loadMore} />
      )}
    </section>
  );
}

interface ToolsProps {
  step: Step;
  field: Field;
  dates: Dates | undefined;
  onClear: () => void;
}

function Tools({ step, field, dates, onClear }: ToolsProps) {
  return (
    <div className="timeline-tools">
      <fieldset className="switch" aria-label="Length of the bars">
        {STEPS.map((one) => (
          <label key={one}>
            <input type="radio" name="step" checked={one === step} onChange={() => setParams({ step: one })} />
            <span>{capitalize(one)}</span>
          </label>
        ))}
      </fieldset>
      <label>
        Stacked by{' '}
        <select value={field} onChange={(event) => setParams({ stack: event.currentTarget.value })}>
          {FIELDS.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      {dates && (
        <p className="timeline-dates">
          {describeDates(dates)}
          <button type="button" onClick={onClear}>
            All dates
          </button>
        </p>
      )}
    </div>
  );
}

function describeDates({ begin, end }: Dates): string {
  if (!Number.isFinite(begin)) return `Until ${formatDay(end)}`;
  return Number.isFinite(end) ? formatRange(begin, end) : `Since ${formatDay(begin)}`;
}

interface HeldProps {
  /** The filter without dates, as JSON. */
  filter: string;
  heldAt: string;
  params: URLSearchParams;
  hasDates: boolean;
  list: ReturnType<typeof useList>;
}

/** The number of memories that held at a time, whenever they were created. */
function Held({ filter, heldAt, params, hasDates, list }: HeldProps) {
  const load = useCallback(
    async (memory: Memories, signal: AbortSignal) => {
      const { current: _current, ...selection }: ListFilter = JSON.parse(filter);
      return memory.memories({ ...selection, as_of: heldAt, limit: 1 }, { signal });
    },
    [filter, heldAt],
  );
  // Without dates, the list has the memories that held then.
  const counted = useResource(hasDates ? load : undefined, changesLists);
  const total = hasDates ? counted.value?.total : list.isLoaded ? list.total : undefined;
  const table = withoutParams(params, 'view', 'step', 'stack', 'year', 'since', 'until', 'open');
  if (counted.error !== undefined) return <Failure error={counted.error} onRetry={counted.reload} />;
  return (
    <p role="status" className="timeline-held">
      {total === undefined ? 'Counting …' : `${formatMemories(total)} held then. `}
      {total !== undefined && <a href={getAddress('', table)}>Show in the table</a>}
    </p>
  );
}

interface ShownChangesProps extends Pick<HeldProps, 'filter' | 'params' | 'list'> {
  dates: Dates | undefined;
  heldAt: string | null;
  step: Step;
}

/** The changes of the chosen dates, or else of the day, week or month of the slider. */
function ShownChanges({ filter, params, dates, heldAt, step, list }: ShownChangesProps) {
  const at = Date.parse(heldAt ?? '');
  // Without a time, the list has the memories that appeared in the chosen dates.
  if (dates) return <Changes filter={filter} params={params} dates={dates} {...(heldAt === null && { list })} />;
  if (Number.isNaN(at)) {
    return null;
  }
  const begin = getBegin(at, step);
  return <Changes filter={filter} params={params} dates={{ begin, end: getNext(begin, step) - 1 }} />;
}
