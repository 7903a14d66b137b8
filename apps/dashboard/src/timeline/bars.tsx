// biome-ignore-all lint/a11y/useFocusableInteractive: the list has the focus, and names the active option
import { type Ref, useMemo } from 'preact/compat';
import { formatNumber } from '../format.ts';
import { getTicks, getTop } from './axis.ts';
import type { Period, Range } from './periods.ts';
import type { useRangeChooser } from './range-chooser.ts';

interface BarsProps {
  /** The periods that are shown, and the index of the first of them. */
  periods: readonly Period[];
  first: number;
  /** Returns the content of a period, for screen readers. */
  describe: (period: Period) => string;
  label: string;
  /** CSS colors, one for each value of a period; the last one for the rest. */
  colors: readonly string[];
  chosen: Range | undefined;
  chooser: ReturnType<typeof useRangeChooser>;
  frame: Ref<HTMLDivElement>;
  widthPx: number;
}

const HEIGHT = 100;
/** Part of the width of a period that stays empty. */
const GAP = 0.15;

/** Bars by period, stacked by the values of a field, with axes. Dragging or keys choose a range of periods. */
export function Bars({ periods, first, describe, label, colors, chosen, chooser, frame, widthPx }: BarsProps) {
  const { cursor, pointed, drawn, press, startDrag, drag, endDrag, leave, blur, cancel, chooseOne } = chooser;
  const at = pointed ?? cursor;
  const top = useMemo(() => getTop(Math.max(1, ...periods.map(({ count }) => count))), [periods]);
  const ticks = useMemo(() => getTicks(periods, widthPx), [periods, widthPx]);
  const names = useMemo(() => periods.map(describe), [periods, describe]);
  const paths = useMemo(
    () => colors.map((_, value) => getPath(periods, value, colors.length, top)),
    [periods, colors, top],
  );
  const getIndex = ({ clientX, currentTarget }: PointerEvent) => {
    const { left, width } = (currentTarget as HTMLElement).getBoundingClientRect();
    const index = Math.floor(((clientX - left) / width) * periods.length);
    return first + Math.min(Math.max(index, 0), periods.length - 1);
  };
  const shown = drawn ?? chosen;
  const isIn = (i: number) => shown !== undefined && first + i >= shown.first && first + i <= shown.last;
  const from = shown && Math.min(Math.max(shown.first - first, 0), periods.length);
  const to = shown && Math.min(Math.max(shown.last + 1 - first, 0), periods.length);
  return (
    <div className="timeline-plot">
      <p className="timeline-scale" aria-hidden="true">
        <span>{formatNumber(top)}</span>
        <span>{top % 2 === 0 && formatNumber(top / 2)}</span>
        <span>0</span>
      </p>
      <div
        ref={frame}
        className="timeline-bars"
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          startDrag(getIndex(event), event.shiftKey);
        }}
        onPointerMove={(event) => drag(getIndex(event))}
        onPointerUp={endDrag}
        onPointerCancel={cancel}
        onPointerLeave={leave}
      >
        <svg viewBox={`0 0 ${periods.length} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <path className="timeline-line" d={`M0 0h${periods.length}M0 ${HEIGHT / 2}h${periods.length}`} />
          {from !== undefined && to !== undefined && (
            <rect className="timeline-range" x={from} width={to - from} height={HEIGHT} />
          )}
          {at !== undefined && <rect className="timeline-cursor" x={at - first} width={1} height={HEIGHT} />}
          {paths.map((path, i) => (
            <path key={colors[i]} d={path} style={{ fill: colors[i] }} />
          ))}
          {from !== undefined && to !== undefined && (
            <path
              className="timeline-outside"
              d={`M0 0h${from}v${HEIGHT}H0zM${to} 0H${periods.length}v${HEIGHT}H${to}z`}
            />
          )}
        </svg>
        <div
          className="timeline-options"
          role="listbox"
          aria-orientation="horizontal"
          aria-multiselectable="true"
          aria-label={label}
          aria-describedby="timeline-keys"
          aria-activedescendant={cursor === undefined ? undefined : `bar-${cursor}`}
          tabIndex={0}
          onKeyDown={press}
          onBlur={blur}
        >
          {names.map((name, i) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the list handles the keys
            <span
              key={periods[i]?.from}
              id={`bar-${first + i}`}
              role="option"
              aria-selected={isIn(i)}
              aria-label={name}
              onClick={({ detail }) => detail === 0 && chooseOne(first + i)}
            />
          ))}
        </div>
      </div>
      <p className="timeline-ticks" aria-hidden="true">
        {ticks.map(({ index, label: tick }) => (
          <span key={index} style={{ left: `${(index / periods.length) * 100}%` }}>
            {tick}
          </span>
        ))}
      </p>
    </div>
  );
}

/** Returns the rectangles of one value of all periods as one path. */
function getPath(periods: readonly Period[], value: number, valueCount: number, top: number): string {
  const toY = (count: number) => HEIGHT - (HEIGHT * count) / top;
  return periods
    .map((period, i) => {
      const parts = getParts(period, valueCount);
      const below = parts.slice(0, value).reduce((sum, part) => sum + part, 0);
      const part = parts[value] as number;
      if (part === 0) return '';
      const [y, bottom] = [toY(below + part), toY(below)];
      return `M${i + GAP / 2} ${y.toFixed(2)}h${1 - GAP}V${bottom.toFixed(2)}h${GAP - 1}z`;
    })
    .join('');
}

/**
 * Returns the heights of the parts of a bar, which together are its count. The last part is the rest: memories without
 * one of the values. Memories with several tags count for each, so that the parts are reduced to the count.
 */
function getParts({ count, values = [] }: Period, valueCount: number): number[] {
  const known = Array.from({ length: valueCount - 1 }, (_, i) => values[i] ?? 0);
  const sum = known.reduce((all, part) => all + part, 0);
  const factor = sum > count ? count / sum : 1;
  return [...known.map((part) => part * factor), Math.max(0, count - sum)];
}
