import { createContext, type ReactNode, useContext, useMemo, useState } from 'preact/compat';

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
  isSelected(id: string): boolean;
  /** Replaces the selection. */
  select(ids: Iterable<string>): void;
  /** Selects a memory, or ends its selection. Ends the selection of all memories that match. */
  toggle(id: string): void;
  /** Selects all memories that match the filters and were created by `until`. */
  selectAll(all: AllMemories): void;
  clear(): void;
  startAction(action: SelectionAction): void;
  endAction(): void;
}

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
    const change = (next: Selected) => setState({ filterKey, selected: next });
    return {
      selected,
      action,
      count: selected.kind === 'ids' ? selected.ids.size : selected.total,
      hasMore: selected.kind === 'all' && selected.hasMore,
      isSelected: (id) => selected.kind === 'all' || selected.ids.has(id),
      select: (ids) => change({ kind: 'ids', ids: new Set(ids) }),
      toggle: (id) =>
        setState((before) => {
          const { selected: earlier } = before.filterKey === filterKey ? before : { selected: NONE };
          const ids = new Set(earlier.kind === 'ids' ? earlier.ids : []);
          if (!ids.delete(id)) ids.add(id);
          return { filterKey, selected: { kind: 'ids', ids } };
        }),
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
