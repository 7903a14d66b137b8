import { type ReactNode, useEffect, useEffectEvent, useLayoutEffect, useRef, useState } from 'preact/compat';
import { useRoute } from '../route.ts';
import { useRowKeys } from '../row-keys.ts';
import { loadScrollPosition, type ScrollPosition, saveScrollPosition } from '../scroll-position.ts';
import { useMeasuredRows } from './measured-rows.ts';

export interface VirtualListProps<Item> {
  label: string;
  /** The content, as text, if it can change within a history entry. A list with other content starts at its top. */
  list?: string;
  items: readonly Item[];
  /** Number of all items, loaded or not. */
  total: number;
  getKey: (item: Item) => string;
  /** Height of an item in pixels until it is measured. */
  estimatePx: number;
  /** Loads more items. Called near the end of the loaded items, and to restore a scroll position. */
  onNearEnd?: () => void;
  children: (item: Item, index: number) => ReactNode;
}

/** Number of items at the end of the loaded items. Rendering one of these items loads more items. */
const NEAR_END_ITEMS = 20;

/** Maximum number of frames in which a position is restored, and the number of frames that it must hold to be final. */
const MAX_RESTORING_FRAMES = 90;
const STEADY_FRAMES = 6;

const CONTROLS = 'a, button';

/** Events of a person who moves in the page. They end the restoration of a position. */
const INPUT_EVENTS = ['wheel', 'touchstart', 'pointerdown', 'keydown'];

/**
 * A list of any length that scrolls with the page and renders only the items in and near the window. Back, Forward and
 * a reload restore the scroll position and the focused row.
 */
export function VirtualList<Item>({
  label,
  list: shown = '',
  items,
  total,
  getKey,
  estimatePx,
  onNearEnd,
  children,
}: VirtualListProps<Item>) {
  const list = useRef<HTMLUListElement>(null);
  /** The position to restore once its item is loaded. */
  const restoring = useRef(useState(() => loadScrollPosition(shown))[0]);
  const lastPosition = useRef<ScrollPosition>(undefined);
  const shownHash = useRef(location.hash);
  const save = () => {
    // The list may still be rendered when the address is already that of another view, or of the list without the open
    // memory, beside which the rows have other heights.
    if (restoring.current || !list.current || location.hash !== shownHash.current) return;
    lastPosition.current = getPosition(list.current, { list: shown, loaded: items.length }, lastPosition.current);
    if (lastPosition.current) saveScrollPosition(lastPosition.current);
  };
  const { first, end, tops } = useMeasuredRows(list, { keys: items.map(getKey), estimatePx, onMove: save });
  useRowKeys(list);
  const { params } = useRoute();
  useLayoutEffect(() => {
    // Turns the browser's scroll restoration off, because the browser would scroll before the items are loaded.
    history.scrollRestoration = 'manual';
    if (shown && !restoring.current) scrollTo(0, 0);
    const stop = () => {
      restoring.current = undefined;
    };
    for (const type of INPUT_EVENTS) addEventListener(type, stop, { passive: true });
    return () => {
      for (const type of INPUT_EVENTS) removeEventListener(type, stop);
    };
  }, [shown]);
  const getTop = useEffectEvent((index: number) => tops[index] ?? 0);
  const restore = (position: ScrollPosition) => {
    const found = items.findIndex((item) => getKey(item) === position.key);
    if (found < 0 && items.length < Math.min(position.loaded, total)) return;
    const index = found < 0 ? Math.min(position.index, items.length - 1) : found;
    let frame = 0;
    let steadyFrames = 0;
    // Rows have estimated heights until they are rendered. Each row that is measured moves the rows below, so the
    // position is corrected until it holds.
    const correct = () => {
      if (restoring.current !== position || !list.current) return;
      steadyFrames = scrollRowTo(list.current, index, position.top, getTop(index)) ? steadyFrames + 1 : 0;
      frame++;
      if (steadyFrames < STEADY_FRAMES && frame < MAX_RESTORING_FRAMES) requestAnimationFrame(correct);
      else {
        restoring.current = undefined;
        restoreFocus(list.current, position);
        save();
      }
    };
    requestAnimationFrame(correct);
  };
  const shownParams = useRef(params);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the position can only be restored when more items are loaded
  useLayoutEffect(() => {
    // A memory that is opened or closed beside the list changes the width of the list, and so the heights of the rows.
    if (shownParams.current !== params) {
      const position = loadScrollPosition(shown) ?? restoring.current ?? lastPosition.current;
      // A copy, which ends the restoration in the earlier layout.
      restoring.current = position && { ...position };
    }
    shownParams.current = params;
    shownHash.current = location.hash;
    if (restoring.current) restore(restoring.current);
  }, [items.length, params]);
  useEffect(() => {
    const isNearEnd = end > items.length - NEAR_END_ITEMS;
    if ((isNearEnd || restoring.current) && items.length < total) onNearEnd?.();
  }, [end, items.length, total, onNearEnd]);
  return (
    <ul ref={list} className="list" aria-label={label} style={{ height: tops.at(-1) }} onFocusIn={save}>
      {items.slice(first, end).map((item, offset) => (
        <li
          key={getKey(item)}
          data-index={first + offset}
          data-key={getKey(item)}
          aria-setsize={total}
          aria-posinset={first + offset + 1}
          style={{ transform: `translateY(${tops[first + offset]}px)` }}
        >
          {children(item, first + offset)}
        </li>
      ))}
    </ul>
  );
}

interface Row {
  key: string;
  index: number;
  element: HTMLElement;
}

/** Returns the rendered rows, first to last. */
function getRows(list: HTMLElement): Row[] {
  return [...list.children]
    .filter((element) => element instanceof HTMLElement)
    .map((element) => ({ key: element.dataset.key ?? '', index: Number(element.dataset.index), element }));
}

/** Returns the current position, or the previous one if no row is rendered. */
function getPosition(
  list: HTMLElement,
  state: Pick<ScrollPosition, 'list' | 'loaded'>,
  previous: ScrollPosition | undefined,
): ScrollPosition | undefined {
  const rows = getRows(list);
  const active = document.activeElement;
  const focusedRow = rows.find(({ element }) => element.contains(active));
  // A row keeps its place while the memory that it has opened has the focus.
  const focused = focusedRow
    ? { key: focusedRow.key, control: [...focusedRow.element.querySelectorAll(CONTROLS)].indexOf(active as Element) }
    : previous?.focused;
  // Uses the focused row if its top is visible, or the first row whose top is visible. A row above it may still be
  // measured, and its new height moves all rows below.
  const visible = rows.filter(({ element }) => isTopVisible(element));
  const row = visible.find(({ key }) => key === focused?.key) ?? visible[0] ?? rows.at(-1);
  if (!row) return previous;
  return { key: row.key, index: row.index, top: row.element.getBoundingClientRect().top, ...state, focused };
}

function isTopVisible(element: HTMLElement): boolean {
  const { top } = element.getBoundingClientRect();
  return top >= 0 && top < innerHeight;
}

/**
 * Scrolls so that the top of a row is at `top`, in pixels from the top of the window. Returns whether it was there
 * already.
 *
 * @param estimate the top of the row in the list if it is not rendered yet
 */
function scrollRowTo(list: HTMLElement, index: number, top: number, estimate: number): boolean {
  const row = getRows(list).find((one) => one.index === index)?.element;
  const offset = (row?.getBoundingClientRect().top ?? list.getBoundingClientRect().top + estimate) - top;
  if (row && Math.abs(offset) < 1) return true;
  scrollBy(0, offset);
  return false;
}

/** Focuses the link or button that had the focus, unless the focus is somewhere else than on the whole view. */
function restoreFocus(list: HTMLElement, { focused }: ScrollPosition): void {
  const active = document.activeElement;
  if (!focused || (active !== document.body && active?.tagName !== 'MAIN')) return;
  const row = getRows(list).find(({ key }) => key === focused.key)?.element;
  row?.querySelectorAll<HTMLElement>(CONTROLS)[focused.control]?.focus({ preventScroll: true });
}
