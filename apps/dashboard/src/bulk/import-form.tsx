import { type ReactNode, useEffect, useId, useState } from 'preact/compat';
import { formatCount, formatDateTime, formatDay, formatMemories, formatNumber, formatValue } from '../format.ts';
import { Failure } from '../parts/notice.tsx';
import { FORMAT_LABELS, hasColumns, type ImportOptions, type Preview, readColumns } from './import-file.ts';

interface ImportFormProps {
  file: File;
  /** Undefined if the file could not be read. */
  preview: Preview | undefined;
  error?: unknown;
  options: ImportOptions;
  /** Reads the file again, with other options. */
  onOptions: (options: ImportOptions) => void;
  onImport: (preview: Preview) => void;
  onClose: () => void;
  children: ReactNode;
}

/** Shows what a file contains and how it is read, and starts the import. */
export function ImportForm({ file, preview, error, options, onOptions, onImport, onClose, children }: ImportFormProps) {
  const id = useId();
  const [map, setMap] = useState(options.map ?? '');
  const from = preview?.from ?? options.from;
  const { found_count: count, refused_count: refusedCount = 0 } = preview ?? {};
  const [columns, setColumns] = useState<string[]>([]);
  useEffect(() => void readColumns(file).then(setColumns), [file]);
  return (
    <>
      <p className="long">
        <b>{file.name}</b>
        {preview && <span className="soft"> {describe(preview)}</span>}
      </p>
      <Failure error={error} />
      {preview && preview.first.length > 0 && <FirstTexts preview={preview} />}
      {preview?.left_out?.map(({ reason, count: left }) => (
        <p key={reason} className="soft">
          {formatNumber(left)} left out: {reason}
        </p>
      ))}
      {refusedCount > 0 && (
        <p className="soft">{formatCount(refusedCount, 'item')} cannot be read, and will be listed.</p>
      )}
      <form
        className="import-options"
        onSubmit={(event) => {
          event.preventDefault();
          onOptions({ ...options, map });
        }}
      >
        <label htmlFor={`${id}-from`}>Kind of file</label>
        <select
          id={`${id}-from`}
          value={from}
          onChange={({ currentTarget: { value } }) =>
            onOptions({ ...options, from: value as ImportOptions['from'], map, source_user: '' })
          }
        >
          <option value="auto">Recognized by its content</option>
          {Object.entries(FORMAT_LABELS).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
        {preview?.users && preview.users.length > 1 && (
          <>
            <label htmlFor={`${id}-user`}>Memories of the user</label>
            <select
              id={`${id}-user`}
              value={options.source_user ?? ''}
              onChange={({ currentTarget: { value } }) => onOptions({ ...options, map, source_user: value })}
            >
              <option value="">All users</option>
              {preview.users.map((user) => (
                <option key={user}>{user}</option>
              ))}
            </select>
          </>
        )}
        {hasColumns(from) && (
          <>
            <label htmlFor={`${id}-map`}>Columns, as field=column</label>
            <input
              id={`${id}-map`}
              aria-describedby={`${id}-columns`}
              placeholder="content=note,created_at=day"
              value={map}
              onChange={({ currentTarget: { value } }) => setMap(value)}
            />
            <label className="inline">
              <input
                type="checkbox"
                checked={options.keepsRest ?? false}
                onChange={({ currentTarget: { checked } }) => onOptions({ ...options, map, keepsRest: checked })}
              />
              Keep the other columns as metadata
            </label>
            <button type="submit">Update preview</button>
            <p id={`${id}-columns`} className="soft long">
              {columns.length > 0 && `Columns of the file: ${columns.join(', ')}.`} Fields: content, created_at, tags,
              title, session_id, external_id, importance, source, valid_from, valid_to, expires_at.
            </p>
          </>
        )}
      </form>
      <div className="actions">
        {preview && (
          <button
            type="button"
            className="primary"
            // The preview must show how the import reads the file.
            disabled={count === 0 || map !== (options.map ?? '')}
            onClick={() => onImport(preview)}
          >
            {count === undefined ? 'Import' : `Import ${formatMemories(count)}`}
          </button>
        )}
        {children}
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </>
  );
}

function describe({ from, found_count, session_count = 0, first_at, last_at }: Preview): string {
  return [
    FORMAT_LABELS[from],
    ...(found_count === undefined ? [] : [formatMemories(found_count)]),
    ...(session_count > 1 ? [formatCount(session_count, 'session')] : []),
    ...(first_at && last_at ? [`${formatDay(first_at)} – ${formatDay(last_at)}`] : []),
  ].join(' · ');
}

const FIRST_COLUMNS: readonly {
  label: string;
  toText: (memory: Preview['first'][number]) => string | null | undefined;
}[] = [
  { label: 'Created', toText: ({ created_at }) => created_at && formatDateTime(created_at) },
  { label: 'Tags', toText: ({ tags }) => tags?.join(', ') },
  { label: 'Session', toText: ({ session_id }) => session_id },
  {
    label: 'Metadata',
    toText: ({ metadata }) =>
      Object.entries(metadata ?? {})
        .map(([name, value]) => `${name}: ${formatValue(value)}`)
        .join(', '),
  },
];

/** The first texts, each with the fields that its memory gets. */
function FirstTexts({ preview }: { preview: Preview }) {
  const columns = FIRST_COLUMNS.filter(({ toText }) => preview.first.some(toText));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it
    <section className="import-first" tabIndex={0} aria-label="First memories">
      <table>
        <thead>
          <tr>
            <th scope="col">Text</th>
            {columns.map(({ label }) => (
              <th key={label} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {preview.first.map((memory, i) => (
            <tr key={memory.external_id ?? i}>
              <td dir="auto">{memory.content}</td>
              {columns.map(({ label, toText }) => (
                <td key={label}>{toText(memory)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
