import type { Memory } from '@memoryd/client';
import { createContext, type ReactNode, useContext, useMemo, useState } from 'preact/compat';
import { createStore } from '../store.ts';

/**
 * The selected memories: some by their ids, or all that match the filters. `until`: creation time of the newest of all,
 * so that those that are stored later are not selected. `hasMore`: whether more than `total` match, which were not counted.
 */
export type Selected = { kind: 'ids'; ids: ReadonlySet<string> } | ({ kind: 'all' } & AllMemories);

interface AllMemories {
  total: number;
  hasMore: boolean;
  until: string | undefined;
}

type Ref = Pick<Memory, 'id' | 'created_at'>;

/** An action on all selected memories that a key has asked for. */
export type SelectionAction = 'tag' | 'forget';

interface Selection {
  selected: Selected;
  /** Number of selected memories. */
  count: number;
  /** Whether more are selected, which were not counted. */
  hasMore: boolean;
  /** The action that was asked for by a key; the bar with the bulk actions carries it out. */
  action: SelectionAction | undefined;
  isSelected(memory: Ref): boolean;
  /** Replaces the selection. */
  select(ids: Iterable<string>): void;
  /**
   * Selects memories, or ends their selection if all of them are selected. The selection of all memories that match
   * cannot leave one out: of it, the loaded ones stay selected.
   */
  toggle(memories: readonly Ref[], loaded: readonly Ref[]): void;
  /** Selects all memories that match the filters and were created by `until`. */
  selectAll(all: AllMemories): void;
  clear(): void;
  startAction(action: SelectionAction): void;
  endAction(): void;
}

/** The creation time of the newest memory that the table shows: it does not show newer ones before the person wants to. */
export const shownUntil = createStore<string | undefined>(undefined);

const NONE: Selected = { kind: 'ids', ids: new Set() };

const SelectionContext = createContext<Selection | undefined>(undefined);

/** An action that was asked for ends with its selection, so that it never acts on another one. */
interface State extends Pick<Partial<Selection>, 'action'> {
  filterKey: string;
  selected: Selected;
}

interface SelectionProviderProps {
  /** Identifies the filters. With other filters, nothing is selected. */
  filterKey: string;
  children: ReactNode;
}

/** Provides one selection to the table, the timeline, the map and the bar with the bulk actions. */
export function SelectionProvider({ filterKey, children }: SelectionProviderProps) {
  const [state, setState] = useState<State>({ filterKey, selected: NONE });
  const { selected, action } = state.filterKey === filterKey ? state : { selected: NONE };
  const selection = useMemo((): Selection => {
    const isSelected = ({ id, created_at }: Ref) =>
      selected.kind === 'ids' ? selected.ids.has(id) : created_at <= (selected.until ?? created_at);
    const change = (next: Selected) => setState({ filterKey, selected: next });
    return {
      selected,
      action,
      count: selected.kind === 'ids' ? selected.ids.size : selected.total,
      hasMore: selected.kind === 'all' && selected.hasMore,
      isSelected,
      select: (ids) => change({ kind: 'ids', ids: new Set(ids) }),
      toggle(memories, loaded) {
        const ids = new Set(selected.kind === 'ids' ? selected.ids : loaded.filter(isSelected).map(({ id }) => id));
        const areSelected = memories.every(({ id }) => ids.has(id));
        for (const { id } of memories) ids[areSelected ? 'delete' : 'add'](id);
        change({ kind: 'ids', ids });
      },
      selectAll: (all) => change({ kind: 'all', ...all }),
      clear: () => change(NONE),
      startAction: (started) => setState((before) => ({ ...before, action: started })),
      endAction: () => setState(({ action: _ended, ...before }) => before),
    };
  }, [filterKey, selected, action]);
  return <SelectionContext.Provider value={selection}>{children}</SelectionContext.Provider>;
}

export function useSelection(): Selection {
  const selection = useContext(SelectionContext);
  if (!selection) throw new Error('useSelection must be used within <SelectionProvider>');
  return selection;
}
