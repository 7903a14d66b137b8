import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'preact/compat';
import { getHistoryEntryId, loadTablePosition, saveTablePosition } from '../scroll-position.ts';
import { getContentPx, getRowRange, getScrollTopFor, type RowLayout, toRowsPx, toScrollTop } from './row-window.ts';
import type { Rows } from './rows.ts';

/** Height of the header, and of a row of one line. */
export const ROW_PX = 36;
export const TWO_LINES_PX = 72;
/** Rows that are rendered before and after the visible ones. */
const EXTRA_ROWS = 8;

/** The index of the header row, in which the arrow keys move between the headers. */
export const HEADER = -1;

/** The row that has the tab stop. The column counts only in the header. */
export interface Active {
  index: number;
  column: number;
}

export interface GridSize {
  widthPx: number;
  /** Height of the visible rows. */
  viewPx: number;
}

/**
 * Returns the size of the grid, also when it changes. Zero before the first layout.
 *
 * @param isShown whether the grid is there: it is not while the list is empty
 */
export function useGridSize(grid: RefObject<HTMLElement | null>, isShown: boolean): GridSize {
  const [size, setSize] = useState<GridSize>({ widthPx: 0, viewPx: 0 });
  useLayoutEffect(() => {
    const element = grid.current;
    if (!element || !isShown) return;
    const measure = () => setSize({ widthPx: element.clientWidth, viewPx: element.clientHeight - ROW_PX });
    const observer = new ResizeObserver(measure);
    measure();
    observer.observe(element);
    return () => observer.disconnect();
  }, [grid, isShown]);
  return size;
}

/** Returns the position that was saved for a list in the current history entry. */
export function useSavedPosition(list: string) {
  return useState(() => loadTablePosition(getHistoryEntryId(), list))[0];
}

interface PositionOptions {
  grid: RefObject<HTMLDivElement | null>;
  rows: Rows;
  /** Filter and order of the rows, as text. */
  list: string;
  saved: ReturnType<typeof loadTablePosition>;
  /** Number of rows, and their height. */
  layout: RowLayout;
  columnCount: number;
  /** The memory that is open beside the table. */
  openId: string | null;
}

export type TablePosition = ReturnType<typeof useTablePosition>;

/**
 * The scroll position of the table and the row that has the tab stop. Both are saved for the history entry, and restored
 * when the person returns to it.
 */
export function useTablePosition({ grid, rows, list, saved, layout, columnCount, openId }: PositionOptions) {
  const { total: count, rowPx, viewPx } = layout;
  const [scrollTop, setScrollTop] = useState(0);
  const [active, setActive] = useState<Active>({ index: saved?.active ?? 0, column: 0 });
  const mustFocus = useRef(false);
  const isRestored = useRef(false);

  const scrollTo = (top: number) => {
    if (!grid.current) return;
    grid.current.scrollTop = top;
    // Renders the rows at the new position before one of them takes the focus.
    setScrollTop(grid.current.scrollTop);
  };
  /** Shows a row, which gets the tab stop. */
  const reveal = (index: number) => {
    if (index >= 0 && grid.current) scrollTo(getScrollTopFor(index, grid.current.scrollTop, layout));
    setActive((before) => ({ ...before, index }));
  };
  const moveTo = (index: number) => {
    if (count === 0 && index !== HEADER) return;
    mustFocus.current = true;
    reveal(Math.max(HEADER, Math.min(index, count - 1)));
  };
  const moveInHeader = (column: number) => {
    mustFocus.current = true;
    setActive({ index: HEADER, column: Math.max(0, Math.min(column, columnCount)) });
  };
  const moveToStart = () => {
    scrollTo(0);
    setActive({ index: 0, column: 0 });
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: restores once, when the height is known
  useLayoutEffect(() => {
    if (isRestored.current || viewPx === 0 || count === 0) return;
    isRestored.current = true;
    if (!saved) return;
    scrollTo(toScrollTop(saved.top, layout));
    mustFocus.current = saved.hasFocus && document.activeElement?.closest('.beside') == null && openId === null;
  }, [viewPx, count]);

  const rowsPx = toRowsPx(scrollTop, layout);
  const previousRowPx = useRef(rowPx);
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows of another height begin with the same row
  useLayoutEffect(() => {
    const before = { ...layout, rowPx: previousRowPx.current };
    previousRowPx.current = rowPx;
    if (before.rowPx === rowPx || !isRestored.current) return;
    const isActiveVisible = getScrollTopFor(active.index, scrollTop, before) === scrollTop;
    const top = toScrollTop((toRowsPx(scrollTop, before) * rowPx) / before.rowPx, layout);
    scrollTo(isActiveVisible ? getScrollTopFor(active.index, top, layout) : top);
  }, [rowPx]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another version may be another snapshot
  useEffect(() => {
    if (!isRestored.current || !rows.snapshot) return;
    const hasFocus = grid.current?.contains(document.activeElement) || openId !== null;
    const position = { list, top: rowsPx, active: active.index, snapshot: rows.snapshot, hasFocus };
    saveTablePosition(getHistoryEntryId(), position);
  }, [rows, rowsPx, active.index, openId, rows.version]);

  useLayoutEffect(() => {
    if (!mustFocus.current) return;
    const target =
      active.index === HEADER
        ? `[role=columnheader]:nth-child(${active.column + 1})`
        : `[aria-rowindex="${active.index + 2}"]`;
    const element = grid.current?.querySelector<HTMLElement>(target);
    if (!element) return;
    mustFocus.current = false;
    element.focus({ preventScroll: true });
    if (active.index === HEADER) element.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  });

  // The table follows the memory that is open. Its row has the focus again when it is closed, also after the page was
  // loaded again.
  const previousOpenId = useRef(openId);
  // biome-ignore lint/correctness/useExhaustiveDependencies: acts only when another memory is open
  useLayoutEffect(() => {
    const closedId = previousOpenId.current;
    previousOpenId.current = openId;
    if (openId === closedId) return;
    const index = rows.findIndex(openId ?? closedId ?? '');
    if (openId === null) moveTo(index ?? active.index);
    else if (index !== undefined) reveal(index);
  }, [openId]);

  return {
    scrollTop,
    active,
    ...getRowRange(scrollTop, layout, EXTRA_ROWS),
    contentPx: getContentPx(layout),
    /** Rows of one press of Page Down. */
    pageRows: Math.max(1, Math.floor(viewPx / rowPx) - 1),
    setScrollTop,
    setActive,
    moveTo,
    moveInHeader,
    moveToStart,
  };
}
