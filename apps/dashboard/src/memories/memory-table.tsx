// biome-ignore-all lint/a11y/useSemanticElements: a table element cannot have rows of which most are not rendered
// biome-ignore-all lint/a11y/useFocusableInteractive: the rows and the headers are one tab stop together
import type { Memory } from '@memoryd/client';
import {
  type TargetedEvent,
  useCallback,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useMemo,
  useRef,
  useSyncExternalStore,
} from 'preact/compat';
import { useForgets } from '../bulk/pending-forgets.ts';
import { changesLists } from '../events.ts';
import { parseListFilter } from '../filter.ts';
import { useKeyListener } from '../keys.ts';
import { useProvideListOrder } from '../panel/list-order.ts';
import { Failure } from '../parts/notice.tsx';
import { getAddress, goTo } from '../route.ts';
import { useService } from '../service.tsx';
import { isTransient, useAnswerListener, useReloadOnEvents } from '../watch.tsx';
import { type Column, getChosenColumns, getDefaultColumns, hasTwoLines } from './columns.tsx';
import { NoMemories } from './no-memories.tsx';
import { FIRST_ROW, requestFocus, useRequestedFocus } from './requested-focus.ts';
import { useRowSelection } from './row-selection.ts';
import { getRowTop, type RowLayout } from './row-window.ts';
import { type Direction, type Order, type RowList, Rows, type Snapshot } from './rows.ts';
import { getTableHandlers } from './table-input.ts';
import {
  type GridSize,
  HEADER,
  ROW_PX,
  type TablePosition,
  TWO_LINES_PX,
  useGridSize,
  useSavedPosition,
  useTablePosition,
} from './table-position.ts';
import { HeaderCell, Row } from './table-row.tsx';
import { TableStatus } from './table-status.tsx';

const CHECK_PX = 40;
/** Width below which a row shows the text above its other columns. */
const COMPACT_PX = 560;

const ORDERS: readonly Order[] = ['created', 'changed', 'importance', 'use', 'retention'];

interface MemoryTableProps {
  params: URLSearchParams;
  /** Called with the columns that are shown. */
  onColumns: (columns: Column[]) => void;
}

/** Shows the memories that match the filters in a grid of rows of one height. */
export function MemoryTable({ params, onColumns }: MemoryTableProps) {
  const list = useMemo((): RowList => {
    const order = ORDERS.find((one) => one === params.get('order')) ?? 'created';
    return { filter: parseListFilter(params), order, dir: params.get('dir') === 'asc' ? 'asc' : 'desc' };
  }, [params]);
  // Other parameters, such as the open memory, do not change the list.
  const key = JSON.stringify(list);
  return <Table key={key} list={list} listKey={key} params={params} onColumns={onColumns} />;
}

function Table({ list, listKey, params, onColumns }: MemoryTableProps & { list: RowList; listKey: string }) {
  const grid = useRef<HTMLDivElement>(null);
  const saved = useSavedPosition(listKey);
  const rows = useRows(list, saved?.snapshot);
  const isEmpty = rows.total === 0 || (rows.total === undefined && rows.error !== undefined);
  const size = useGridSize(grid, !isEmpty);
  const { columns, isCompact } = useColumns(params, list.order, size, onColumns);
  const rowPx = isCompact || hasTwoLines(params) ? TWO_LINES_PX : ROW_PX;
  // Until the first page is loaded, the table has the length that it had when the position was saved, or fills the view.
  const count =
    rows.total === undefined ? (saved?.snapshot.total ?? Math.ceil(Math.max(0, size.viewPx) / rowPx)) : rows.count;
  const layout: RowLayout = { total: count, rowPx, viewPx: size.viewPx };
  const openId = params.get('open');
  const position = useTablePosition({
    ...{ grid, rows, list: listKey, saved, layout },
    ...{ columnCount: columns.length, openId },
  });
  const { first, last, active } = position;
  const rowSelection = useRowSelection(rows, active.index);
  // A layout effect, so that the rows are requested before the skeleton rows are painted.
  // biome-ignore lint/correctness/useExhaustiveDependencies: with another total, other rows exist
  useLayoutEffect(() => rows.show(first, last), [rows, first, last, rows.total]);

  const sort = (order: Order, dir: Direction = list.order === order && list.dir === 'desc' ? 'asc' : 'desc') => {
    const changed = new URLSearchParams(params);
    changed.set('order', order);
    changed.set('dir', dir);
    goTo(getAddress('', changed));
  };
  const sortBy = (column: number) => {
    const order = columns[column - 1]?.order;
    if (!order) return;
    // Another order is another table.
    requestFocus(column);
    sort(order);
  };
  const columnCount = columns.length;
  const { press, pressOutside, click, hold } = getTableHandlers({
    rows,
    count,
    columnCount,
    position,
    rowSelection,
    sortBy,
  });
  useKeyListener((event) => {
    if (!isEmpty) pressOutside(event);
  });
  useRequestedFocus(rows.total !== undefined, (part) =>
    part === FIRST_ROW ? position.moveTo(0) : position.moveInHeader(part),
  );

  if (isEmpty) {
    return rows.error === undefined ? (
      <NoMemories params={params} onStored={() => rows.showNew()} />
    ) : (
      <Failure error={rows.error} onRetry={() => rows.retry()} />
    );
  }

  const isHeader = active.index === HEADER;
  return (
    <>
      <Failure error={rows.error} onRetry={() => rows.retry()} />
      <TableStatus
        rows={rows}
        list={list}
        onSort={sort}
        onShowNew={() => {
          position.moveToStart();
          rowSelection.anchor.current = 0;
          rows.showNew();
        }}
      />
      <div
        ref={grid}
        role="grid"
        className={`table${isCompact ? ' table-compact' : ''}${rowPx === ROW_PX ? '' : ' table-two-lines'}`}
        aria-label="Memories"
        aria-multiselectable
        aria-rowcount={rows.total === undefined ? -1 : count + 1}
        aria-busy={rows.total === undefined}
        aria-colcount={columnCount + 1}
        style={{ '--table-columns': getTemplate(columns) }}
        onScroll={(event: TargetedEvent<HTMLDivElement>) => position.setScrollTop(event.currentTarget.scrollTop)}
        onKeyDown={press}
        onClick={click}
        onMouseDown={hold}
      >
        <div role="rowgroup" className="table-head">
          <div role="row" aria-rowindex={1} className="table-row">
            <HeaderCell isActive={isHeader && active.column === 0} onClick={rowSelection.toggleLoaded}>
              <span className="hidden">
                {rowSelection.loadedState === 'on' ? 'Clear selection' : 'Select loaded memories'}
              </span>
              <i className="table-box" data-state={rowSelection.loadedState} />
            </HeaderCell>
            {columns.map(({ id, label, order, isNumber }, i) => (
              <HeaderCell
                key={id}
                isActive={isHeader && active.column === i + 1}
                isNumber={isNumber}
                sorted={order && (order === list.order ? list.dir : 'none')}
                onClick={order && (() => sort(order))}
              >
                {label}
              </HeaderCell>
            ))}
          </div>
        </div>
        <TableBody
          rows={rows}
          columns={columns}
          layout={layout}
          position={position}
          isSelected={rowSelection.selection.isSelected}
          openId={openId}
        />
      </div>
    </>
  );
}

/** Returns the rows of a list. Follows the events of the service, and loads again after an outage. */
function useRows(list: RowList, snapshot: Snapshot | undefined): Rows {
  const { memory, handleAuthError } = useService();
  // biome-ignore lint/correctness/useExhaustiveDependencies: another list has another table
  const rows = useMemo(() => new Rows(memory, list, snapshot, handleAuthError), [memory]);
  useSyncExternalStore(rows.subscribe, () => rows.version);
  useEffect(() => () => rows.close(), [rows]);
  useReloadOnEvents(
    changesLists,
    () => void rows.refresh(),
    () => rows.isLoading,
  );
  useAnswerListener(() => {
    if (isTransient(rows.error)) rows.retry();
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version may have other rows
  const findNeighbor = useCallback(
    (id: string, step: 1 | -1) => {
      const index = rows.findIndex(id);
      return index === undefined ? undefined : rows.getRow(index + step)?.id;
    },
    [rows, rows.version],
  );
  useProvideListOrder(findNeighbor);
  return rows;
}

/** Returns the chosen columns, otherwise the most important ones that fit. */
function useColumns(
  params: URLSearchParams,
  order: Order,
  { widthPx }: GridSize,
  onColumns: (columns: Column[]) => void,
) {
  const isCompact = widthPx > 0 && widthPx < COMPACT_PX;
  const { keyId } = useService();
  const columns =
    getChosenColumns(params, keyId) ?? getDefaultColumns(isCompact ? COMPACT_PX : widthPx - CHECK_PX, order);
  const key = columns.map(({ id }) => id).join();
  const report = useEffectEvent(() => onColumns(columns));
  // A layout effect, so that the choice of columns never shows the earlier ones.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the columns
  useLayoutEffect(() => report(), [key]);
  return { columns, isCompact };
}

function getTemplate(columns: readonly Column[]): string {
  const widths = columns.map(({ id, widthPx }) => (id === 'text' ? `minmax(${widthPx}px, 1fr)` : `${widthPx}px`));
  return `${CHECK_PX}px ${widths.join(' ')}`;
}

interface TableBodyProps {
  rows: Rows;
  columns: readonly Column[];
  layout: RowLayout;
  position: TablePosition;
  isSelected: (row: Memory) => boolean;
  openId: string | null;
}

/** The rows that are visible, and some before and after them. */
function TableBody({ rows, columns, layout, position, isSelected, openId }: TableBodyProps) {
  const { first, last, active, scrollTop, contentPx, setActive } = position;
  const forgets = useForgets();
  const isForgetting = (id: string) =>
    forgets.some(({ ids, state }) => state !== 'failed' && state !== 'unsent' && ids?.includes(id));
  const shown = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  // The active row stays rendered, so that it keeps the focus and the tab stop.
  if (active.index >= 0 && active.index < layout.total && (active.index < first || active.index > last)) {
    shown.push(active.index);
  }
  const columnKey = columns.map(({ id }) => id).join();
  return (
    <div role="rowgroup" className="table-body" style={{ height: `${contentPx}px` }}>
      {shown.map((index) => {
        const row = rows.getRow(index);
        return (
          <Row
            key={index}
            index={index}
            top={getRowTop(index, scrollTop, layout)}
            row={row}
            columns={columnKey}
            all={columns}
            isTabStop={index === Math.min(active.index, layout.total - 1)}
            isSelected={row !== undefined && isSelected(row)}
            isOpen={row !== undefined && row.id === openId}
            isForgetting={row !== undefined && isForgetting(row.id)}
            onFocus={setActive}
          />
        );
      })}
    </div>
  );
}
