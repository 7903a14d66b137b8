import type { ReactNode } from 'preact/compat';
import { capitalize, formatCounted, formatMemories, formatNumber } from '../format.ts';
import type { Direction, Order, RowList, Rows } from './rows.ts';
import { useSelection } from './selection.tsx';

interface TableStatusProps {
  rows: Rows;
  list: RowList;
  /** Shows the memories that were stored since the rows were loaded. */
  onShowNew: () => void;
  onSort: (order: Order, dir: Direction) => void;
}

/** The line above the table: number of memories, order, selection, and memories that were stored meanwhile. */
export function TableStatus({ rows, list, onShowNew, onSort }: TableStatusProps) {
  const { count, hasMore } = useSelection();
  return (
    <div className="table-status">
      <p role="status">{describe(rows, list, count > 0 ? formatCounted(count, hasMore) : undefined)}</p>
      <select
        aria-label="Order"
        value={`${list.order} ${list.dir}`}
        onChange={(event) => {
          const [order, dir] = event.currentTarget.value.split(' ');
          onSort(order as Order, dir as Direction);
        }}
      >
        {Object.entries(ORDER_LABELS).flatMap(([order, labels]) =>
          Object.entries(labels).map(([dir, label]) => (
            <option key={label} value={`${order} ${dir}`}>
              {capitalize(label)}
            </option>
          )),
        )}
      </select>
      {rows.newCount > 0 && (
        <button type="button" className="table-new" onClick={onShowNew}>
          {formatNumber(rows.newCount)} new · show
        </button>
      )}
    </div>
  );
}

const ORDER_LABELS: Readonly<Record<Order, Readonly<Record<Direction, string>>>> = {
  created: { desc: 'newest first', asc: 'oldest first' },
  changed: { desc: 'last changed first', asc: 'last changed last' },
  importance: { desc: 'most important first', asc: 'least important first' },
  use: { desc: 'most used first', asc: 'least used first' },
  retention: { desc: 'highest retention first', asc: 'lowest retention first' },
};

function describe(rows: Rows, { order, dir }: RowList, selected: string | undefined): ReactNode {
  const { total, hasMore, count, orderedCount } = rows;
  if (total === undefined) return 'Loading memories…';
  if (selected !== undefined) return `${selected} selected of ${formatCounted(total, hasMore)}`;
  const all = formatMemories(total, hasMore);
  // The order is visible beside it.
  const label = <span className="hidden">, {ORDER_LABELS[order][dir]}</span>;
  if (count === total && !hasMore) {
    return (
      <>
        {all}
        {label}
      </>
    );
  }
  const isNewest = orderedCount !== undefined;
  return (
    <>
      The {isNewest ? 'newest' : 'first'} {formatNumber(count)} of {all}
      {label}. Filter to {isNewest ? 'order' : 'see'} others.
    </>
  );
}
