import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useEffectEvent, useLayoutEffect, useRef, useState } from 'react';

interface VirtualListProps<Item> {
  label: string;
  items: readonly Item[];
  /** How many there are in all, loaded or not. */
  total: number;
  keyOf: (item: Item) => string;
  /** Pixels that an item takes before it was measured. */
  estimate: number;
  /** Called when what is shown comes near the end of what is loaded. */
  onNearEnd?: () => void;
  children: (item: Item, index: number) => ReactNode;
}

/** Items from the end at which more is asked for. */
const NEAR_END = 20;

/** A list as long as it likes, of which only what is in sight is there. It scrolls with the page. */
export function VirtualList<Item>({
  label,
  items,
  total,
  keyOf,
  estimate,
  onNearEnd,
  children,
}: VirtualListProps<Item>) {
  const list = useRef<HTMLUListElement>(null);
  const [scrollMargin, setScrollMargin] = useState(0);
  useLayoutEffect(() => setScrollMargin(list.current ? list.current.getBoundingClientRect().top + scrollY : 0), []);
  const virtual = useWindowVirtualizer({
    count: items.length,
    estimateSize: () => estimate,
    getItemKey: (index) => keyOf(items[index] as Item),
    overscan: 8,
    scrollMargin,
  });
  const shown = virtual.getVirtualItems();
  const lastShown = shown.at(-1)?.index ?? -1;
  const nearEnd = useEffectEvent(() => onNearEnd?.());
  useEffect(() => {
    if (lastShown >= items.length - NEAR_END && items.length < total) nearEnd();
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
