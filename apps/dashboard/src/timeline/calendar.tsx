// biome-ignore-all lint/a11y/useSemanticElements: a table cannot have one block for each month
// biome-ignore-all lint/a11y/useFocusableInteractive: the days are one tab stop together
// biome-ignore-all lint/a11y/useKeyWithClickEvents: the grid handles the keys
import type { GrowthResponse } from '@memoryd/client';
import { memo, useEffect, useLayoutEffect, useMemo, useRef } from 'preact/compat';
import { formatMemories } from '../format.ts';
import { type Dates, findPeriods, formatPeriod, getBegin, getNext, groupPeriods, type Period } from './periods.ts';
import { useRangeChooser } from './range-chooser.ts';

const WEEK_DAYS = 7;
const KEY_STEPS = { across: 1, down: WEEK_DAYS, page: 28 };
const LETTERS = ['M', 'T', 'W', 'T', 'F', 'S', 'S'];

const monthNames = new Intl.DateTimeFormat('en-GB', { month: 'long' });

interface CalendarProps {
  growth: GrowthResponse;
  /** The year in the address; undefined shows that of the chosen dates, or the last with memories. */
  year: number | undefined;
  onYear: (year: number) => void;
  /** The dates in the address. */
  dates: Dates | undefined;
  onChoose: (first: Period, last: Period) => void;
  onClear: () => void;
}

/** The days of a year, one block a month: the darker, the more memories. */
export function Calendar({ growth, year: asked, onYear, dates, onChoose, onClear }: CalendarProps) {
  const days = useMemo(() => groupPeriods(growth, 'day'), [growth]);
  const years = useMemo(() => [...days.keys()].map((from) => new Date(from).getFullYear()), [days]);
  const [firstYear, lastYear] = [years[0] as number, years.at(-1) as number];
  const wanted =
    asked ?? (dates ? new Date(Number.isFinite(dates.end) ? dates.end : dates.begin).getFullYear() : lastYear);
  const year = Math.min(Math.max(wanted, firstYear), lastYear);
  const cells = useMemo(() => getYear(days, year), [days, year]);
  const months = useMemo(() => getMonths(cells), [cells]);
  const chosen = dates && findPeriods(cells, dates);
  const today = cells.findLastIndex(({ from }) => from <= Date.now());
  const start = chosen?.last ?? Math.max(0, today);
  const chooser = useRangeChooser({
    count: cells.length,
    steps: KEY_STEPS,
    start,
    onChoose: (range) => (range ? onChoose(cells[range.first] as Period, cells[range.last] as Period) : onClear()),
  });
  const { cursor, drawn, pointed } = chooser;
  const grid = useRef<HTMLDivElement>(null);
  const stop = Math.min(cursor ?? start, cells.length - 1);
  useLayoutEffect(() => {
    if (!grid.current?.contains(document.activeElement)) return;
    grid.current.querySelector<HTMLElement>(`[data-day="${stop}"]`)?.focus();
  }, [stop]);
  useEffect(() => {
    // On narrow screens the months are one row, of which the last months are seen first.
    const month = grid.current
      ?.querySelector<HTMLElement>(`[data-day="${start}"]`)
      ?.closest<HTMLElement>('[role=rowgroup]');
    if (grid.current && month) grid.current.scrollLeft = month.offsetLeft - grid.current.offsetLeft;
  }, [start]);
  const thresholds = useMemo(() => getThresholds(cells), [cells]);
  const at = pointed ?? cursor;
  const current = at === undefined ? undefined : cells[at];
  const total = useMemo(() => cells.reduce((sum, { count }) => sum + count, 0), [cells]);
  const shown = drawn ?? chosen;
  const getIndex = ({ clientX, clientY }: PointerEvent) => {
    const cell = document.elementFromPoint(clientX, clientY)?.closest<HTMLElement>('[data-day]');
    return cell && grid.current?.contains(cell) ? Number(cell.dataset.day) : undefined;
  };
  const press = (event: PointerEvent) => {
    const index = getIndex(event);
    if (index === undefined || event.button !== 0) return;
    // A touch may still become a scroll, which the browser then takes over.
    if (event.pointerType !== 'touch') grid.current?.setPointerCapture(event.pointerId);
    chooser.startDrag(index, event.shiftKey);
  };
  const move = (event: PointerEvent) => {
    const index = event.pointerType === 'touch' ? undefined : getIndex(event);
    if (index !== undefined) chooser.drag(index);
  };
  return (
    <section className="timeline-card" aria-label="Calendar">
      <div className="timeline-head">
        <h2>{year}</h2>
        <p className="soft">
          {current ? `${formatPeriod(current.from, 'day')}: ${formatMemories(current.count)}` : formatMemories(total)}
        </p>
        {firstYear < lastYear && (
          <div className="actions">
            <button type="button" disabled={year <= firstYear} onClick={() => onYear(year - 1)}>
              {year <= firstYear ? 'Earlier' : year - 1}
            </button>
            <button type="button" disabled={year >= lastYear} onClick={() => onYear(year + 1)}>
              {year >= lastYear ? 'Later' : year + 1}
            </button>
          </div>
        )}
      </div>
      <div
        ref={grid}
        className="timeline-calendar"
        role="grid"
        aria-multiselectable="true"
        aria-label={`Days of ${year}`}
        aria-describedby="timeline-keys"
        onFocus={({ target }) => {
          if (target instanceof HTMLElement && target.dataset.day !== undefined)
            chooser.focus(Number(target.dataset.day));
        }}
        onKeyDown={chooser.press}
        onPointerDown={press}
        onPointerMove={move}
        onPointerUp={chooser.endDrag}
        onPointerCancel={chooser.cancel}
        onPointerLeave={chooser.leave}
        onBlur={({ relatedTarget }) => {
          if (!(relatedTarget instanceof Node && grid.current?.contains(relatedTarget))) chooser.blur();
        }}
        onClick={(event) => {
          const cell = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-day]') : null;
          if (event.detail === 0 && cell) chooser.chooseOne(Number(cell.dataset.day));
        }}
      >
        {months.map(({ first, days: monthDays }) => (
          <Month
            key={monthDays[0]?.from}
            days={monthDays}
            first={first}
            thresholds={thresholds}
            stop={within(stop, first, monthDays.length)}
            cursor={at === undefined ? undefined : within(at, first, monthDays.length)}
            from={shown && Math.max(0, shown.first - first)}
            to={shown && Math.min(monthDays.length - 1, shown.last - first)}
          />
        ))}
      </div>
    </section>
  );
}

/** Returns the index in a month of an index in the year; undefined if it is in another month. */
function within(index: number, first: number, count: number): number | undefined {
  return index >= first && index < first + count ? index - first : undefined;
}

interface MonthProps {
  days: readonly Period[];
  /** Index in the year of the first day. */
  first: number;
  /** The counts from which a day has each of the shades. */
  thresholds: readonly number[];
  /** The day that is the tab stop, and the one under the pointer or the cursor. */
  stop: number | undefined;
  cursor: number | undefined;
  /** The chosen days, of which none may be in the month. */
  from: number | undefined;
  to: number | undefined;
}

const Month = memo(function Month({ days, first, thresholds, stop, cursor, from, to }: MonthProps) {
  const begin = (days[0] as Period).from;
  const offset = (new Date(begin).getDay() + 6) % WEEK_DAYS;
  const names = useMemo(
    () => days.map((day) => `${formatPeriod(day.from, 'day')}: ${formatMemories(day.count)}`),
    [days],
  );
  const weeks = Array.from({ length: Math.ceil((offset + days.length) / WEEK_DAYS) }, (_, week) =>
    days.map((_day, i) => i).filter((i) => Math.floor((i + offset) / WEEK_DAYS) === week),
  );
  const isChosen = (i: number) => from !== undefined && to !== undefined && i >= from && i <= to;
  return (
    <div role="rowgroup" aria-label={monthNames.format(begin)}>
      <p className="timeline-month" aria-hidden="true">
        {monthNames.format(begin)}
      </p>
      <p className="timeline-week" aria-hidden="true">
        {LETTERS.map((letter, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the letters do not move
          <span key={i}>{letter}</span>
        ))}
      </p>
      {weeks.map((week) => (
        <div key={week[0]} role="row" className="timeline-week">
          {week.map((i) => (
            <span
              key={i}
              role="gridcell"
              data-day={first + i}
              tabIndex={i === stop ? 0 : -1}
              aria-selected={isChosen(i)}
              aria-label={names[i]}
              className={`timeline-day timeline-level-${thresholds.filter((from) => (days[i] as Period).count >= from).length}${i === cursor ? ' timeline-day-cursor' : ''}`}
              style={i === 0 ? { gridColumnStart: offset + 1 } : {}}
            >
              {i + 1}
            </span>
          ))}
        </div>
      ))}
    </div>
  );
});

/** Returns the counts from which a day is darker: quarters of the days with memories. */
function getThresholds(cells: readonly Period[]): number[] {
  const counts = cells.map(({ count }) => count).filter((count) => count > 0);
  counts.sort((one, other) => one - other);
  return [0, 1, 2, 3].map((quarter) => (quarter === 0 ? 1 : (counts[Math.floor((counts.length * quarter) / 4)] ?? 1)));
}

/** Returns all days of a year; those without memories have the count 0. */
function getYear(days: ReadonlyMap<number, Period>, year: number): Period[] {
  const cells: Period[] = [];
  const end = new Date(year + 1, 0, 1).getTime();
  for (let from = getBegin(new Date(year, 0, 1).getTime(), 'day'); from < end; from = getNext(from, 'day')) {
    cells.push(days.get(from) ?? { from, to: getNext(from, 'day'), count: 0 });
  }
  return cells;
}

/** Returns the days of each month, and the index of the first one in the year. */
function getMonths(cells: readonly Period[]): { first: number; days: Period[] }[] {
  const months: { first: number; days: Period[] }[] = [];
  for (const [i, cell] of cells.entries()) {
    if (new Date(cell.from).getDate() === 1) months.push({ first: i, days: [] });
    months.at(-1)?.days.push(cell);
  }
  return months;
}
