import { type RefObject, useEffect, useEffectEvent, useLayoutEffect, useRef, useState } from 'preact/compat';

/** Rows above and below the window that are rendered too. */
const OVERSCAN_ROWS = 8;

/** Heights that are kept beyond those of the rows of the list. */
const MAX_HEIGHTS = 1000;

/** Pause after which scrolling has ended. */
const SCROLL_PAUSE_MS = 150;

interface MeasuredRows {
  /** Index of the first rendered row, and the index after the last. */
  first: number;
  end: number;
  /** Top of each row in pixels from the top of the list, and then the height of the list. */
  tops: readonly number[];
}

interface MeasuredRowsOptions {
  /** The key of each row: its element has the key as `data-key`. */
  keys: readonly string[];
  /** Height of a row in pixels until it is rendered. */
  estimatePx: number;
  /** Called when scrolling has ended, and when other rows are rendered. */
  onMove: () => void;
}

/**
 * Returns the rows in and near the window, of a list that scrolls with the page. Measures the rows that are rendered;
 * rows in the window keep their place when a row above them gets another height.
 */
export function useMeasuredRows(list: RefObject<HTMLElement | null>, options: MeasuredRowsOptions): MeasuredRows {
  const { keys, estimatePx, onMove } = options;
  const heights = useRef(new Map<string, number>()).current;
  /** Change of the height of all rows above the window since the last rendering, in pixels. */
  const shift = useRef(0);
  const [, setMeasurement] = useState(0);
  const [{ first, end }, setRange] = useState({ first: 0, end: Math.ceil(innerHeight / estimatePx) + OVERSCAN_ROWS });

  const tops = [0];
  for (const [index, key] of keys.entries()) tops.push((tops[index] as number) + (heights.get(key) ?? estimatePx));

  const update = useEffectEvent(() => {
    if (!list.current) return;
    const top = -list.current.getBoundingClientRect().top;
    const range = {
      first: Math.max(0, countUntil(tops, top) - 1 - OVERSCAN_ROWS),
      end: countUntil(tops, top + innerHeight) + OVERSCAN_ROWS,
    };
    setRange((before) => (before.first === range.first && before.end === range.end ? before : range));
  });
  /** Stores the height of a row. Returns whether it has changed. */
  const setHeight = (row: HTMLElement): boolean => {
    const { key = '' } = row.dataset;
    const { top, height } = row.getBoundingClientRect();
    const change = height - (heights.get(key) ?? estimatePx);
    heights.set(key, height);
    // A list that changes for days, such as that of the activity, must not keep the heights of all rows it has had.
    if (heights.size > MAX_HEIGHTS + keys.length) {
      const kept = new Set(keys);
      for (const one of heights.keys()) if (!kept.has(one)) heights.delete(one);
    }
    if (top < 0) shift.current += change;
    return change !== 0;
  };
  const measure = useEffectEvent((entries: readonly ResizeObserverEntry[], observer: ResizeObserver) => {
    let isChanged = false;
    for (const { target } of entries) {
      if (!target.isConnected) observer.unobserve(target);
      else if (setHeight(target as HTMLElement)) isChanged = true;
    }
    if (isChanged) setMeasurement((count) => count + 1);
  });
  const move = useEffectEvent(onMove);
  const observer = useRef<ResizeObserver>(undefined);
  const observed = useRef(new WeakSet<Element>()).current;

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const follow = () => {
      update();
      clearTimeout(timer);
      timer = setTimeout(() => move(), SCROLL_PAUSE_MS);
    };
    addEventListener('scroll', follow, { passive: true });
    addEventListener('resize', follow);
    return () => {
      removeEventListener('scroll', follow);
      removeEventListener('resize', follow);
      clearTimeout(timer);
      observer.current?.disconnect();
      observer.current = undefined;
    };
  }, []);
  useLayoutEffect(() => {
    observer.current ??= new ResizeObserver((entries, one) => measure(entries, one));
    if (shift.current !== 0) scrollBy(0, shift.current);
    shift.current = 0;
    // New rows are measured at once: the observer reports in the next frame, and a row that a person or a saved position
    // has reached until then would move.
    let isChanged = false;
    for (const row of list.current?.children ?? []) {
      if (observed.has(row)) continue;
      observed.add(row);
      observer.current.observe(row);
      if (setHeight(row as HTMLElement)) isChanged = true;
    }
    if (isChanged) setMeasurement((count) => count + 1);
    update();
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: only other rows are a movement
  useEffect(() => move(), [first, end]);
  return { first, end: Math.min(end, keys.length), tops };
}

/** Returns the number of tops that are at most a position. */
function countUntil(tops: readonly number[], position: number): number {
  let [low, high] = [0, tops.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((tops[middle] as number) <= position) low = middle + 1;
    else high = middle;
  }
  return low;
}
