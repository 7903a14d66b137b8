import { useWindowVirtualizer, type Virtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useEffectEvent, useLayoutEffect, useRef, useState } from 'react';
import { keepPosition, keptPosition, type ListPosition, nameEntry } from '../list-position.ts';

interface VirtualListProps<Item> {
  label: string;
  items: readonly Item[];
  /** How many there are in all, loaded or not. */
  total: number;
  getKey: (item: Item) => string;
  /** Pixels that an item takes before it was measured. */
  estimate: number;
  /** Called when what is shown comes near the end of what is loaded. */
  onNearEnd?: () => void;
  children: (item: Item, index: number) => ReactNode;
}

/** Items from the end at which more is asked for. */
const NEAR_END = 20;

/**
 * A list of any length, of which only the items in sight are in the page. It scrolls with the page. Back, Forward and a
 * reload return to where it was scrolled to.
 */
export function VirtualList<Item>({
  label,
  items,
  total,
  getKey,
  estimate,
  onNearEnd,
  children,
}: VirtualListProps<Item>) {
  const list = useRef<HTMLUListElement>(null);
  const [entry] = useState(nameEntry);
  /** Where to scroll to once the item is loaded. */
  const returning = useRef(useState(() => keptPosition(entry))[0]);
  const [scrollMargin, setScrollMargin] = useState(0);
  useLayoutEffect(() => setScrollMargin(list.current ? list.current.getBoundingClientRect().top + scrollY : 0), []);
  const virtual = useWindowVirtualizer({
    count: items.length,
    estimateSize: () => estimate,
    getItemKey: (index) => getKey(items[index] as Item),
    overscan: 8,
    scrollMargin,
    onChange: (list) => {
      const position = returning.current ? undefined : positionIn(list);
      if (position) keepPosition(entry, position);
    },
  });
  const shown = virtual.getVirtualItems();
  useLayoutEffect(() => {
    // The browser would scroll as soon as it is back, when nothing is loaded.
    history.scrollRestoration = 'manual';
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only more items can bring the one that is wanted
  useLayoutEffect(() => {
    const to = returning.current;
    if (!to || !list.current) return;
    const found = items.findIndex((item) => getKey(item) === to.key);
    if (found < 0 && items.length < Math.min(to.loaded, total)) return;
    returning.current = undefined;
    // Somebody scrolled while items were loaded.
    if (scrollY > 0) return;
    // Takes in the rows that have just been measured.
    virtual.getTotalSize();
    const start = virtual.measurementsCache[found < 0 ? Math.min(to.index, items.length - 1) : found]?.start ?? 0;
    const listTop = list.current.getBoundingClientRect().top + scrollY;
    scrollTo(0, listTop + start - virtual.options.scrollMargin - to.top);
  }, [items.length]);
  const lastShown = shown.at(-1)?.index ?? -1;
  const nearEnd = useEffectEvent(() => onNearEnd?.());
  useEffect(() => {
    const isNearEnd = lastShown >= items.length - NEAR_END;
    if ((isNearEnd || returning.current) && items.length < total) nearEnd();
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

function positionIn(list: Virtualizer<Window, Element>): ListPosition | undefined {
  const offset = list.scrollOffset ?? 0;
  const shown = list.getVirtualItems();
  // An item above the top of the window would move it once measured; this one stays where it is put.
  const item = shown.find(({ start }) => start >= offset) ?? shown.at(-1);
  if (!item) return undefined;
  return { key: String(item.key), index: item.index, top: item.start - offset, loaded: list.options.count };
}
