import { formatMetadata, type MetadataEntry, parseMetadata } from '../draft.ts';
import { formatValue } from '../format.ts';

/** Inputs for metadata fields. A value that is not a text is shown, and stays as it is. */
export function MetadataRows({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const entries = parseMetadata(value);
  const change = (edited: MetadataEntry[]) => onChange(formatMetadata(edited));
  const replace = (at: number, entry: MetadataEntry) => change(entries.with(at, entry));
  return (
    <div className="metadata-rows">
      {entries.map(([name, fieldValue], at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: names change while they are typed
        <div key={at} className="metadata-row">
          <input
            aria-label={`Name of field ${at + 1}`}
            required
            value={name}
            onChange={(event) => replace(at, [event.currentTarget.value, fieldValue])}
          />
          {typeof fieldValue === 'string' ? (
            <input
              aria-label={`Value of field ${at + 1}`}
              value={fieldValue}
              onChange={(event) => replace(at, [name, event.currentTarget.value])}
            />
          ) : (
            <code className="long">{formatValue(fieldValue)}</code>
          )}
          <button
            type="button"
            aria-label={`Remove field ${name || at + 1}`}
            onClick={() => change(entries.toSpliced(at, 1))}
          >
            ×
          </button>
        </div>
      ))}
      <button type="button" onClick={() => change([...entries, ['', '']])}>
        Add field
      </button>
    </div>
  );
}
