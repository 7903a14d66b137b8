import { useEffect, useRef, useState } from 'preact/compat';
import { formatDay, getBegin, getNext } from './periods.ts';

const SLIDE_DELAY_MS = 200;

interface AsOfProps {
  /** The beginning of the first day with memories, ms since 1970. */
  first: number;
  /** The time in the address, an ISO 8601 time; null for today. */
  chosen: string | null;
  onChange: (heldAt: string | undefined) => void;
}

const toDay = (first: number, index: number): number => {
  const begin = new Date(first);
  return new Date(begin.getFullYear(), begin.getMonth(), begin.getDate() + index).getTime();
};

/** Days may have 23 or 25 hours. */
const toIndex = (first: number, day: number): number => Math.round((day - first) / 86_400_000);

/** A slider of the days from the first memory until today. */
export function AsOf({ first, chosen, onChange }: AsOfProps) {
  const [slid, setSlid] = useState<number>();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const today = Math.max(0, toIndex(first, getBegin(Date.now(), 'day')));
  const chosenAt = Date.parse(chosen ?? '');
  const chosenIndex = Number.isNaN(chosenAt) ? today : toIndex(first, getBegin(chosenAt, 'day'));
  const index = Math.min(Math.max(slid ?? chosenIndex, 0), today);
  const isToday = slid === undefined ? chosen === null : slid === today;
  const text = isToday ? 'Today' : formatDay(toDay(first, index));
  const slide = (to: number) => {
    setSlid(to);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      setSlid(undefined);
      // A day is meant as a whole, so the time is its end.
      onChange(to === today ? undefined : new Date(getNext(toDay(first, to), 'day') - 1).toISOString());
    }, SLIDE_DELAY_MS);
  };
  if (today === 0 && chosen === null) return null;
  return (
    <section className="timeline-card timeline-slider" aria-label="What held at a time">
      <label htmlFor="as-of">As of</label>
      <output htmlFor="as-of">{text}</output>
      <input
        id="as-of"
        type="range"
        aria-valuetext={text}
        min={0}
        max={today}
        value={index}
        onInput={(event) => slide(Number(event.currentTarget.value))}
      />
      <button type="button" disabled={chosen === null} onClick={() => onChange(undefined)}>
        Today
      </button>
    </section>
  );
}
