import { getKeyName } from '../keys.ts';
import { openToEdit } from '../panel/requested-edit.ts';
import { openMemory } from '../route.ts';
import type { RowSelection } from './row-selection.ts';
import type { Rows } from './rows.ts';
import type { SelectionAction } from './selection.tsx';
import { HEADER, type TablePosition } from './table-position.ts';

interface TableInput {
  rows: Rows;
  /** Number of rows. */
  count: number;
  columnCount: number;
  position: TablePosition;
  rowSelection: RowSelection;
  /** Orders by a column, if it can be sorted. Columns count from 1. */
  sortBy: (column: number) => void;
}

/** Returns what the keys and clicks in the table do. */
export function getTableHandlers(input: TableInput) {
  return {
    press: (event: KeyboardEvent) => press(event, input),
    /** The keys also work while nothing has the focus. The active row gets it. */
    pressOutside: (event: KeyboardEvent) => {
      if (event.target instanceof Element && event.target.matches('main:not([inert]), body:not(:has(main[inert]))')) {
        press(event, input, true);
      }
    },
    click: (event: MouseEvent) => click(event, input),
    /** Shift selects rows instead of their text. */
    hold: (event: MouseEvent) => {
      if (event.shiftKey) event.preventDefault();
    },
  };
}

type Binding = readonly [names: readonly string[], act: () => void];

const STEPS = ['j', 'k', 'ArrowDown', 'ArrowUp'];

function press(event: KeyboardEvent, input: TableInput, isOutside = false): void {
  const name = getKeyName(event);
  const found = getBindings(input).find(([names]) => names.includes(name));
  if (!found) return;
  event.preventDefault();
  // The form of an action is being loaded. Letters for it must not act on rows. Escape ends the action.
  if (input.rowSelection.selection.action !== undefined && name !== 'Escape') return;
  if (isOutside) input.position.moveTo(input.position.active.index);
  // The first step only shows which row is active.
  if (!isOutside || !STEPS.includes(name)) found[1]();
}

/** The first binding of a key counts. */
function getBindings(input: TableInput): readonly Binding[] {
  const { count, position, rowSelection } = input;
  const { active, moveTo, pageRows } = position;
  const { selection } = rowSelection;
  const extendBy = (step: number) => {
    const next = Math.max(0, Math.min(active.index + step, count - 1));
    moveTo(next);
    void rowSelection.extendTo(next);
  };
  return [
    ...(active.index === HEADER ? getHeaderBindings(input) : getRowBindings(input)),
    [['ArrowDown', 'j'], () => moveTo(active.index + 1)],
    [['k'], () => moveTo(Math.max(0, active.index - 1))],
    [['ArrowUp'], () => moveTo(active.index - 1)],
    [['PageDown'], () => moveTo(active.index + pageRows)],
    [['PageUp'], () => moveTo(Math.max(0, active.index - pageRows))],
    [['Home', 'Ctrl+home'], () => moveTo(0)],
    [['End', 'Ctrl+end'], () => moveTo(count - 1)],
    [['Shift+ArrowDown'], () => extendBy(1)],
    [['Shift+ArrowUp'], () => extendBy(-1)],
    [['Shift+PageDown'], () => extendBy(pageRows)],
    [['Shift+PageUp'], () => extendBy(-pageRows)],
    [['Shift+Home'], () => extendBy(-count)],
    [['Shift+End'], () => extendBy(count)],
    [['Ctrl+a'], rowSelection.selectMore],
    [['t'], () => startAction('tag', input)],
    [['#'], () => startAction('forget', input)],
    // Without a selection, Escape closes the open memory.
    ...(selection.count > 0 ? [[['Escape'], selection.clear] as const] : []),
  ];
}

function getHeaderBindings({ columnCount, position, rowSelection, sortBy }: TableInput): readonly Binding[] {
  const { column } = position.active;
  return [
    [['ArrowLeft'], () => position.moveInHeader(column - 1)],
    [['ArrowRight'], () => position.moveInHeader(column + 1)],
    [['Home'], () => position.moveInHeader(0)],
    [['End'], () => position.moveInHeader(columnCount)],
    [['x'], rowSelection.toggleLoaded],
    [['Enter', ' '], () => (column === 0 ? rowSelection.toggleLoaded() : sortBy(column))],
  ];
}

function getRowBindings(input: TableInput): readonly Binding[] {
  const { active } = input.position;
  return [
    [['x', ' '], () => input.rowSelection.toggle(active.index)],
    [['Enter'], () => open(active.index, input)],
    [
      ['e'],
      () => {
        const row = input.rows.getRow(active.index);
        if (row) openToEdit(row.id);
      },
    ],
  ];
}

function open(index: number, { rows, position }: TableInput): void {
  const row = rows.getRow(index);
  if (!row) return;
  position.setActive((before) => ({ ...before, index }));
  openMemory(row.id);
}

/** Starts an action on the selected memories. Without a selection, selects the active row. */
function startAction(action: SelectionAction, { rows, position, rowSelection: { selection } }: TableInput): void {
  const row = rows.getRow(position.active.index);
  if (selection.count === 0 && row) selection.select([row.id]);
  if (selection.count > 0 || row) selection.startAction(action);
}

/** The part of a row that was clicked. */
interface Hit {
  index: number;
  part: 'check' | 'text' | 'link' | 'row';
}

function findHit({ target }: MouseEvent): Hit | undefined {
  if (!(target instanceof Element)) return undefined;
  const index = Number(target.closest('[role=row]')?.getAttribute('aria-rowindex') ?? 0) - 2;
  if (index < 0) return undefined;
  if (target.closest('.table-check')) return { index, part: 'check' };
  const link = target.closest('a');
  return { index, part: link === null ? 'row' : link.classList.contains('table-text') ? 'text' : 'link' };
}

function click(event: MouseEvent, input: TableInput): void {
  const hit = findHit(event);
  if (!hit) return;
  const { index, part } = hit;
  const { position, rowSelection } = input;
  if (event.shiftKey) {
    event.preventDefault();
    position.moveTo(index);
    void rowSelection.extendTo(index);
  } else if (part === 'check') {
    event.preventDefault();
    position.moveTo(index);
    rowSelection.toggle(index);
  } else if (event.ctrlKey || event.metaKey) {
    // A link opens in another tab.
    if (part === 'row') rowSelection.toggle(index);
  } else if (part !== 'link' && getSelection()?.isCollapsed) {
    // Text that is being copied stays marked.
    event.preventDefault();
    rowSelection.anchor.current = index;
    open(index, input);
  }
}
