import type { ReactNode } from 'preact/compat';
import type { Pages } from '../paging.ts';
import { Failure, Skeleton } from './notice.tsx';
import { VirtualList, type VirtualListProps } from './virtual-list.tsx';

interface PagedListProps<Item> extends Omit<VirtualListProps<Item>, 'items' | 'total' | 'onNearEnd'> {
  pages: Pages<Item>;
  /** The items, as in `Loading sessions…`. */
  what: string;
  /** Shown in place of an empty list. */
  empty: ReactNode;
}

/** A list that loads page by page, with its states: loading, failed and empty. */
export function PagedList<Item>({ pages, what, empty, ...list }: PagedListProps<Item>) {
  const { items, total, isLoaded, error, loadMore, retry } = pages;
  return (
    <>
      <Failure error={error} onRetry={retry} />
      {!isLoaded && error === undefined && <Skeleton what={what} />}
      {isLoaded && total === 0 && empty}
      {items.length > 0 && <VirtualList {...list} items={items} total={total} onNearEnd={loadMore} />}
    </>
  );
}
