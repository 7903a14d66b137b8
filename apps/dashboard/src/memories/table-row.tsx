// biome-ignore-all lint/a11y/useSemanticElements: a table element cannot have rows of which most are not rendered
// biome-ignore-all lint/a11y/useFocusableInteractive: the rows and the headers are one tab stop together
// biome-ignore-all lint/a11y/useKeyWithClickEvents: the grid handles the keys of its rows and headers
import type { Memory } from '@memoryd/client';
import { memo, type ReactNode } from 'preact/compat';
import { getOpenAddress } from '../route.ts';
import type { Column } from './columns.tsx';
import type { Direction } from './rows.ts';
import type { Active } from './table-position.ts';

interface HeaderCellProps {
  isActive: boolean;
  isNumber?: boolean | undefined;
  /** Undefined if the column cannot be sorted. */
  sorted?: Direction | 'none' | undefined;
  onClick?: (() => void) | undefined;
  children: ReactNode;
}

const SORTS = { asc: 'ascending', desc: 'descending', none: 'none' } as const;
const ARROWS = { asc: ' ▴', desc: ' ▾', none: '' } as const;

export function HeaderCell({ isActive, isNumber, sorted, onClick, children }: HeaderCellProps) {
  return (
    <div
      role="columnheader"
      className={`${isNumber ? 'table-number' : ''} ${onClick ? 'table-sortable' : ''}`}
      tabIndex={isActive ? 0 : -1}
      aria-sort={sorted && SORTS[sorted]}
      onClick={onClick}
    >
      {children}
      {sorted && <span aria-hidden="true">{ARROWS[sorted]}</span>}
    </div>
  );
}

interface RowProps {
  index: number;
  top: number;
  /** Undefined while it is loading. */
  row: Memory | undefined;
  /** Ids of the columns, joined. Compared instead of `all`, whose metadata columns are new objects at each render. */
  columns: string;
  all: readonly Column[];
  isTabStop: boolean;
  isSelected: boolean;
  isOpen: boolean;
  isForgetting: boolean;
  onFocus: (active: Active) => void;
}

/** A row of the table. Renders again only if something it shows has changed. */
export const Row = memo(
  function Row({ index, top, row, all, isTabStop, isSelected, isOpen, isForgetting, onFocus }: RowProps) {
    return (
      <div
        role="row"
        className="table-row"
        aria-rowindex={index + 2}
        aria-selected={isSelected}
        aria-current={isOpen ? 'true' : undefined}
        aria-busy={row === undefined}
        tabIndex={isTabStop ? 0 : -1}
        style={{ transform: `translateY(${top}px)` }}
        onFocus={() => onFocus({ index, column: 0 })}
      >
        <div role="gridcell" className="table-check">
          <span
            role="checkbox"
            aria-label="Select"
            aria-checked={isSelected}
            aria-disabled={row === undefined}
            className="table-box"
            data-state={isSelected ? 'on' : 'off'}
          />
        </div>
        {all.map((column) => (
          <div
            role="gridcell"
            key={column.id}
            className={column.isNumber ? 'table-number' : `table-cell-${column.id.replace(/\..*/s, '')}`}
            dir="auto"
          >
            {row === undefined ? (
              <span className="table-skeleton" />
            ) : (
              <Cell column={column} row={row} isForgetting={isForgetting} />
            )}
          </div>
        ))}
      </div>
    );
  },
  (before, after) =>
    Object.keys(after).every((name) => {
      const key = name as keyof RowProps;
      return key === 'all' || before[key] === after[key];
    }),
);

interface CellProps {
  column: Column;
  row: Memory;
  isForgetting: boolean;
}

function Cell({ column: { id, render }, row, isForgetting }: CellProps) {
  if (id !== 'text') return <>{render(row)}</>;
  return (
    <a
      className={isForgetting ? 'table-text memory-text forgetting' : 'table-text memory-text'}
      tabIndex={-1}
      href={getOpenAddress(row.id)}
    >
      {render(row)}
    </a>
  );
}
