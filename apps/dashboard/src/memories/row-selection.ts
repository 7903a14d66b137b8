import { MAX_CHANGED_IDS } from '@memoryd/contract/limits';
import { useEffect, useRef } from 'preact/compat';
import { useService } from '../service.tsx';
import type { Rows } from './rows.ts';
import { shownUntil, useSelection } from './selection.tsx';

export type RowSelection = ReturnType<typeof useRowSelection>;

/** Selects rows of the table: one, a range, the loaded ones, and all that match the filters. */
export function useRowSelection(rows: Rows, firstAnchor: number) {
  const { handleAuthError } = useService();
  const selection = useSelection();
  /** The row from which Shift extends the selection. */
  const anchor = useRef(firstAnchor);
  const extensions = useRef(0);

  const loaded = rows.getLoaded();
  const selectedLoaded = loaded.filter(selection.isSelected).length;
  const areLoadedSelected = loaded.length > 0 && selectedLoaded === loaded.length;
  const selectLoaded = () => selection.select(loaded.map(({ id }) => id));

  const until = rows.snapshot?.until;
  useEffect(() => {
    shownUntil.set(until);
    return () => shownUntil.set(undefined);
  }, [until]);

  /** Selects the rows between the anchor and a row: at most as many as one change may have. */
  const extendTo = async (index: number) => {
    const from = Math.max(Math.min(anchor.current, index), anchor.current - MAX_CHANGED_IDS + 1);
    const to = Math.min(Math.max(anchor.current, index), anchor.current + MAX_CHANGED_IDS - 1);
    const extension = ++extensions.current;
    try {
      const ids = await rows.fetchIds(from, to);
      // Another key may have extended the selection meanwhile.
      if (extension === extensions.current) selection.select(ids);
    } catch (error) {
      handleAuthError(error);
    }
  };

  const toggle = (index: number) => {
    anchor.current = index;
    extensions.current++;
    const row = rows.getRow(index);
    if (row) selection.toggle([row], loaded);
  };

  return {
    selection,
    anchor,
    /** Whether the loaded rows are selected: all, some or none. */
    loadedState: areLoadedSelected ? 'on' : selectedLoaded > 0 ? 'mixed' : 'off',
    extendTo,
    toggle,
    toggleLoaded() {
      if (areLoadedSelected) selection.clear();
      else selectLoaded();
    },
    /** Selects the loaded rows, and then all that match the filters. */
    selectMore() {
      const { total, hasMore } = rows;
      if (areLoadedSelected && total !== undefined) selection.selectAll({ total, hasMore, until });
      else selectLoaded();
    },
  } as const;
}
