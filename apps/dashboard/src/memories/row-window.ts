/**
 * Maximum height of the content of a scrolling element. Browsers limit the height of an element: Firefox to about
 * 17.9 million pixels, Chromium and Safari to 33.5 million.
 */
const MAX_CONTENT_PX = 16_000_000;

/** Rows of one height in a scrolling element. */
export interface RowLayout {
  total: number;
  rowPx: number;
  /** Height of the visible part. */
  viewPx: number;
}

/** Returns the height of the scrolled content. Above 16 million pixels, the scroll bar covers the rows in proportion. */
export function getContentPx({ total, rowPx }: Pick<RowLayout, 'total' | 'rowPx'>): number {
  return Math.min(total * rowPx, MAX_CONTENT_PX);
}

/** Pixels of rows for each pixel that is scrolled: 1, or more if the rows are higher than the content may be. */
function getScale({ total, rowPx, viewPx }: RowLayout): number {
  const scrollablePx = getContentPx({ total, rowPx }) - viewPx;
  return scrollablePx <= 0 ? 1 : Math.max(1, (total * rowPx - viewPx) / scrollablePx);
}

/** Returns the distance from the top of the first row to the top of the visible part. */
export function toRowsPx(scrollTop: number, layout: RowLayout): number {
  return Math.max(0, scrollTop) * getScale(layout);
}

/** Returns the scroll position that shows a distance from the top of the first row at the top of the visible part. */
export function toScrollTop(rowsPx: number, layout: RowLayout): number {
  const lastPx = Math.max(0, layout.total * layout.rowPx - layout.viewPx);
  return Math.min(Math.max(0, rowsPx), lastPx) / getScale(layout);
}

/** Returns the top of a row in the content while it is scrolled to `scrollTop`. */
export function getRowTop(index: number, scrollTop: number, layout: RowLayout): number {
  const scale = getScale(layout);
  // Without a scale, the position of a row is exact and does not change while it scrolls.
  return scale === 1 ? index * layout.rowPx : index * layout.rowPx - scrollTop * (scale - 1);
}

/** Returns the first and last index of the rows to render: the visible ones and `extra` on either side. */
export function getRowRange(scrollTop: number, layout: RowLayout, extra: number): { first: number; last: number } {
  const { total, rowPx, viewPx } = layout;
  const top = toRowsPx(scrollTop, layout);
  const first = Math.max(0, Math.floor(top / rowPx) - extra);
  const last = Math.min(total - 1, Math.ceil((top + viewPx) / rowPx) + extra);
  return { first, last };
}

/** Returns the scroll position that shows a row completely, as near as possible to the current position. */
export function getScrollTopFor(index: number, scrollTop: number, layout: RowLayout): number {
  const top = toRowsPx(scrollTop, layout);
  const rowTop = index * layout.rowPx;
  if (rowTop < top) return toScrollTop(rowTop, layout);
  if (rowTop + layout.rowPx > top + layout.viewPx) return toScrollTop(rowTop + layout.rowPx - layout.viewPx, layout);
  return scrollTop;
}
