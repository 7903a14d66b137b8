import type { GrowthResponse } from '@memoryd/client';
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from 'preact/compat';
import { capitalize, formatMemories, formatNumber } from '../format.ts';
import { Bars } from './bars.tsx';
import {
  type Dates,
  fillPeriods,
  findPeriods,
  formatPeriod,
  formatRange,
  type Period,
  type Range,
  type Step,
} from './periods.ts';
import { useRangeChooser } from './range-chooser.ts';

/** The narrowest bar. More periods than fit are shown part by part. */
const MIN_BAR_PX = 4;
const SERIES = 10;
const REST_COLOR = 'var(--series-rest)';

interface ChartProps {
  growth: GrowthResponse;
  step: Step;
  field: 'tier' | 'source' | 'tag';
  /** The dates in the address. */
  dates: Dates | undefined;
  onChoose: (first: Period, last: Period) => void;
  onClear: () => void;
}

/** The bars with their legend, which shows the numbers of the period under the pointer or the cursor. */
export function Chart({ growth, step, field, dates, onChoose, onClear }: ChartProps) {
  const periods = useMemo(() => fillPeriods(growth, step), [growth, step]);
  const names = useMemo(
    () => (growth.values ?? []).map((name) => (name === '' ? `No ${field}` : name)),
    [growth, field],
  );
  const colors = useMemo(
    () => [...names.map((name, i) => (field === 'tier' ? `var(--${name})` : `var(--series-${i + 1})`)), REST_COLOR],
    [names, field],
  );
  const chosen = dates && findPeriods(periods, dates);
  const { frame, widthPx } = useWidth();
  const fitting = Math.max(1, Math.min(periods.length, Math.floor(widthPx / MIN_BAR_PX)));
  const chooser = useRangeChooser({
    count: periods.length,
    steps: { across: 1, down: 7, page: Math.max(1, fitting - 1) },
    start: chosen?.last ?? periods.length - 1,
    onChoose: (range) => (range ? onChoose(periods[range.first] as Period, periods[range.last] as Period) : onClear()),
  });
  const { first, move } = useWindow(periods, fitting, { cursor: chooser.cursor, chosen });
  const shown = useMemo(() => periods.slice(first, first + fitting), [periods, first, fitting]);
  const describe = useCallback(
    (period: Period) =>
      [
        `${formatPeriod(period.from, step)}: ${formatMemories(period.count)}`,
        ...names.flatMap((name, i) => (period.values?.[i] ? [`${name} ${formatNumber(period.values[i])}`] : [])),
      ].join(', '),
    [names, step],
  );
  const at = chooser.pointed ?? chooser.cursor;
  const current = at === undefined ? undefined : periods[at];
  const drawn = chooser.drawn ?? (current ? undefined : chosen);
  const counted = drawn ? periods.slice(drawn.first, drawn.last + 1) : current ? [current] : shown;
  const total = counted.reduce((sum, { count }) => sum + count, 0);
  const [from, to] = [counted[0] as Period, counted.at(-1) as Period];
  return (
    <section className="timeline-card" aria-label="Memories over time">
      <div className="timeline-head">
        <p>
          <b>
            {counted.length === 1
              ? formatPeriod(from.from, step)
              : formatRange(from.from, Math.max(to.from, Math.min(to.to - 1, Date.now())))}
          </b>{' '}
          <span className="soft">{formatMemories(total)}</span>
        </p>
        {fitting < periods.length && (
          <div className="actions">
            <button type="button" disabled={first === 0} onClick={() => move(-1)}>
              Earlier
            </button>
            <button type="button" disabled={first + fitting >= periods.length} onClick={() => move(1)}>
              Later
            </button>
          </div>
        )}
      </div>
      <Bars
        periods={shown}
        first={first}
        describe={describe}
        label={`Memories by ${step}`}
        colors={colors}
        chosen={chosen}
        chooser={chooser}
        frame={frame}
        widthPx={widthPx}
      />
      <Legend names={names} colors={colors} growth={growth} counted={counted} total={total} field={field} />
      <p id="timeline-keys" className="soft note timeline-keys">
        Drag over the bars to choose dates. Keys: arrows move, Shift extends, Enter chooses, Esc chooses all dates.
      </p>
    </section>
  );
}

interface LegendProps extends Pick<ChartProps, 'growth' | 'field'> {
  names: readonly string[];
  colors: readonly string[];
  /** The periods whose numbers are shown, and their memories. */
  counted: readonly Period[];
  total: number;
}

function Legend({ names, colors, growth, counted, total, field }: LegendProps) {
  const counts = names.map((_, i) => counted.reduce((sum, { values }) => sum + (values?.[i] ?? 0), 0));
  const rest = total - counts.reduce((sum, count) => sum + count, 0);
  const hasRest = growth.counted_count !== undefined || (growth.values?.length ?? 0) >= SERIES;
  return (
    <ul className="timeline-legend" aria-label={`Colors by ${field}`}>
      {names.map((name, i) => (
        <li key={name}>
          <i style={{ background: colors[i] }} />
          <span dir="auto">{field === 'tier' ? capitalize(name) : name}</span>
          <span className="soft">{formatNumber(counts[i] as number)}</span>
        </li>
      ))}
      {hasRest && (
        <li>
          <i style={{ background: REST_COLOR }} />
          {growth.counted_count === undefined
            ? 'Others'
            : `Others, and all before the newest ${formatNumber(growth.counted_count)}`}
          {rest > 0 && <span className="soft">{formatNumber(rest)}</span>}
        </li>
      )}
    </ul>
  );
}

function useWidth() {
  const frame = useRef<HTMLDivElement>(null);
  const [widthPx, setWidthPx] = useState(0);
  useLayoutEffect(() => {
    if (!frame.current) return;
    const observer = new ResizeObserver(([entry]) => entry && setWidthPx(entry.contentRect.width));
    setWidthPx(frame.current.clientWidth);
    observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
  return { frame, widthPx };
}

/** Chooses which periods are shown if not all fit: those that the person has moved to, or that are chosen, or the last. */
function useWindow(
  periods: readonly Period[],
  fitting: number,
  { cursor, chosen }: { cursor: number | undefined; chosen: Range | undefined },
) {
  /** Beginning of the first period that is shown. Survives other steps and new memories. */
  const [begin, setBegin] = useState<number>();
  const last = periods.length - fitting;
  const middle = chosen && chosen.first < last ? Math.floor((chosen.first + chosen.last - fitting) / 2) : last;
  const wanted = begin === undefined ? middle : periods.findIndex(({ to }) => to > begin);
  let first = Math.min(Math.max(wanted, 0), last);
  if (cursor !== undefined) first = Math.min(Math.max(first, cursor - fitting + 1), cursor);
  const move = (direction: 1 | -1) => {
    const next = Math.min(Math.max(first + direction * fitting, 0), last);
    setBegin(periods[next]?.from);
  };
  return { first, move };
}
