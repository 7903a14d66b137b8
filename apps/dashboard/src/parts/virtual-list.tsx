import { useWindowVirtualizer, type Virtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useEffectEvent, useLayoutEffect, useRef, useState } from 'preact/compat';
import { getHistoryEntryId, loadScrollPosition, type ScrollPosition, saveScrollPosition } from '../scroll-position.ts';

interface VirtualListProps<Item> {
  label: string;
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

/**
 * A list of any length that scrolls with the page and renders only the items in and near the window. Back, Forward and
 * a reload restore the scroll position.
 */
export function VirtualList<Item>({
  label,
  items,
  total,
  getKey,
  estimatePx,
  onNearEnd,
  children,
}: VirtualListProps<Item>) {
  const list = useRef<HTMLUListElement>(null);
  const [entry] = useState(getHistoryEntryId);
  /** The position to restore once its item is loaded. */
  const restoring = useRef(useState(() => loadScrollPosition(entry))[0]);
  const [scrollMargin, setScrollMargin] = useState(0);
  useLayoutEffect(() => setScrollMargin(list.current ? list.current.getBoundingClientRect().top + scrollY : 0), []);
  const virtual = useWindowVirtualizer({
    count: items.length,
    estimateSize: () => estimatePx,
    getItemKey: (index) => getKey(items[index] as Item),
    overscan: 8,
    scrollMargin,
    onChange: (list) => {
      const position = restoring.current ? undefined : getPosition(list);
      if (position) saveScrollPosition(entry, position);
    },
  });
  const shown = virtual.getVirtualItems();
  useLayoutEffect(() => {
    // Turns the browser's scroll restoration off, because the browser would scroll before the items are loaded.
    history.scrollRestoration = 'manual';
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the position can only be restored when more items are loaded
  useLayoutEffect(() => {
    const position = restoring.current;
    if (!position || !list.current) return;
    const found = items.findIndex((item) => getKey(item) === position.key);
    if (found < 0 && items.length < Math.min(position.loaded, total)) return;
    restoring.current = undefined;
    // Do not restore the position if the user has scrolled while items were loading.
    if (scrollY > 0) return;
    // Updates the measurements of the rows that were just rendered.
    virtual.getTotalSize();
    const index = found < 0 ? Math.min(position.index, items.length - 1) : found;
    const start = virtual.measurementsCache[index]?.start ?? 0;
    const listTop = list.current.getBoundingClientRect().top + scrollY;
    scrollTo(0, listTop + start - virtual.options.scrollMargin - position.top);
  }, [items.length]);
  const lastShown = shown.at(-1)?.index ?? -1;
  const nearEnd = useEffectEvent(() => onNearEnd?.());
  useEffect(() => {
    const isNearEnd = lastShown >= items.length - NEAR_END_ITEMS;
    if ((isNearEnd || restoring.current) && items.length < total) nearEnd();
  }, [lastShown, items.length, total]);
  return (
    <ul ref={list} className="list" aria-label={label} style={{ height: virtual.getTotalSize() }}>
      {shown.map(({ index, key, start }) => (
        <li
          key={key}
          ref={virtual.measureElement}
          data-index={index}
          aria-setsize={total}
          aria-posinset={index + 1}
          style={{ transform: `translateY(${start - scrollMargin}px)` }}
        >
          {children(items[index] as Item, index)}
        </li>
      ))}
    </ul>
  );
}

function getPosition(list: Virtualizer<Window, Element>): ScrollPosition | undefined {
  const offset = list.scrollOffset ?? 0;
  const shown = list.getVirtualItems();
  // Uses the first item that starts at or below the top of the window. An item above the window may still be measured,
  // and its new height moves all items below.
  const item = shown.find(({ start }) => start >= offset) ?? shown.at(-1);
  if (!item) return undefined;
  return { key: String(item.key), index: item.index, top: item.start - offset, loaded: list.options.count };
}
