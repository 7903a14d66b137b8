import type { RefObject } from 'preact/compat';
import { useKeys } from './keys.ts';

/** Lets `j` and `k` move the focus between the rows of a list. */
export function useRowKeys(list: RefObject<HTMLElement | null>): void {
  const move = (step: 1 | -1) => {
    // A memory that is open over the list has the keys.
    if (list.current && !list.current.closest('[inert]')) focusRow(list.current, step);
  };
  useKeys({ j: () => move(1), k: () => move(-1) });
}

/**
 * Focuses the row `step` rows after the one with the focus, or else the first one that is visible: the part of it that
 * takes the focus for it (`data-row`), or its first link or button.
 */
export function focusRow(list: Element, step: 1 | -1): void {
  const rows = [...list.children];
  const current = rows.findIndex((row) => row.contains(document.activeElement));
  const firstVisible = rows.findIndex((row) => row.getBoundingClientRect().bottom > getTopHeight());
  const row = rows[current < 0 ? firstVisible : current + step];
  row?.querySelector<HTMLElement>('[data-row], a, button')?.focus({ preventScroll: true });
  row?.scrollIntoView({ block: 'nearest' });
}

/** Returns the height in pixels of the bar that covers the top of the window. */
function getTopHeight(): number {
  return document.querySelector('.top')?.getBoundingClientRect().bottom ?? 0;
}
