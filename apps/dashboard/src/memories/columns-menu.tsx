import { useState } from 'preact/compat';
import { Menu } from '../parts/menu.tsx';
import { getAddress, goTo } from '../route.ts';
import { useService } from '../service.tsx';
import { COLUMN_CHOICES, type Column, findColumn, hasTwoLines, withColumns, withLines } from './columns.tsx';

interface ColumnsMenuProps {
  params: URLSearchParams;
  /** The columns that are shown. */
  columns: readonly Column[];
}

/** Chooses the columns of the table, their order, and the number of lines of a row. */
export function ColumnsMenu({ params, columns }: ColumnsMenuProps) {
  const { keyId } = useService();
  const [field, setField] = useState('');
  const shown = columns.map(({ id }) => id);
  const change = (changed: URLSearchParams) => goTo(getAddress('', changed), { replace: true });
  const setColumns = (ids: readonly string[] | undefined) => change(withColumns(params, ids, keyId));
  const move = (id: string) => {
    const index = shown.indexOf(id);
    setColumns(shown.toSpliced(index, 1).toSpliced(index - 1, 0, id));
  };
  const others = COLUMN_CHOICES.filter(({ id }) => !shown.includes(id));
  const addField = (event: Event) => {
    event.preventDefault();
    const id = `metadata.${field.trim()}`;
    if (findColumn(id)) setColumns([...new Set([...shown, id])]);
    setField('');
  };
  return (
    <Menu label="Columns" title="Columns">
      {() => (
        <div className="columns-menu">
          <ul>
            {[...columns, ...others].map(({ id, label }) => {
              const index = shown.indexOf(id);
              return (
                <li key={id}>
                  <label className="inline">
                    <input
                      type="checkbox"
                      checked={index >= 0}
                      disabled={index >= 0 && shown.length === 1}
                      onChange={() => setColumns(index >= 0 ? shown.filter((one) => one !== id) : [...shown, id])}
                    />
                    {label}
                  </label>
                  {index > 0 && (
                    <button
                      type="button"
                      className="icon"
                      aria-label={`Move ${label} to the left`}
                      onClick={() => move(id)}
                    >
                      ↑
                    </button>
                  )}
                </li>
              );
            })}
          </ul>
          <form className="inline" onSubmit={addField}>
            <input
              aria-label="Metadata field"
              placeholder="Metadata field"
              value={field}
              onChange={(event) => setField(event.currentTarget.value)}
            />
            <button type="submit">Add</button>
          </form>
          <label className="inline">
            <input
              type="checkbox"
              checked={hasTwoLines(params)}
              onChange={(event) => change(withLines(params, event.currentTarget.checked ? '2' : '1'))}
            />
            Two lines for each row
          </label>
          <button type="button" className="quiet" onClick={() => setColumns(undefined)}>
            Default columns
          </button>
        </div>
      )}
    </Menu>
  );
}
