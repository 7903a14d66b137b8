import type { FileImportResponse, ImportResponse } from '@memoryd/client';
import { useState } from 'preact/compat';
import { useAction } from '../action.ts';
import { createFileName, saveFile } from '../admin/download.ts';
import { formatCount, formatMemories } from '../format.ts';
import { Failure, Notice } from '../parts/notice.tsx';
import { useService } from '../service.tsx';

interface ImportResultProps {
  name: string;
  result: ImportResponse | FileImportResponse;
  onClose: () => void;
}

/** Shows what an import has done and refused, and offers its undo. */
export function ImportResult({ name, result, onClose }: ImportResultProps) {
  const { import_id: id, refused, refused_count } = result;
  const save = () => saveFile(createFileName(`refused-${name}`, 'jsonl'), toLines(refused));
  return (
    <>
      <Notice kind="good">
        <p>{describe(result)}</p>
      </Notice>
      {refused_count > 0 && (
        <>
          <p>
            {formatCount(refused_count, 'item was', 'items were')} refused
            {refused.length < refused_count && `; the first ${refused.length} are listed`}:
          </p>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it */}
          <ul className="import-refused" tabIndex={0} aria-label="Refused items">
            {refused.map((item) => (
              <li key={getPlace(item)}>
                <b>{getPlace(item)}</b> {item.error.message}
              </li>
            ))}
          </ul>
        </>
      )}
      <div className="actions">
        <button type="button" className="primary" onClick={onClose}>
          Close
        </button>
        {refused_count > 0 && (
          <button type="button" onClick={save}>
            Save the refused items
          </button>
        )}
        {id !== undefined && <UndoImport id={id} />}
      </div>
    </>
  );
}

/** A button that undoes an import, and then what the undo did. */
export function UndoImport({ id }: { id: string }) {
  const { memory } = useService();
  const [message, setMessage] = useState<string>();
  const { run, isBusy, error } = useAction(async () => {
    const { forgotten_count, kept_count } = await memory.undoImport(id);
    const kept = kept_count > 0 ? ` ${formatCount(kept_count, 'memory stays', 'memories stay')}.` : '';
    return `Undone: ${formatMemories(forgotten_count)} forgotten.${kept}`;
  }, setMessage);
  if (message !== undefined) return <p role="status">{message}</p>;
  return (
    <>
      <button type="button" disabled={isBusy} onClick={() => run()}>
        {isBusy ? 'Undoing…' : 'Undo the import'}
      </button>
      <Failure error={error} onRetry={() => run()} />
    </>
  );
}

function describe(result: ImportResponse | FileImportResponse): string {
  const { imported_count, unchanged_count } = result;
  const updated = 'updated_count' in result ? result.updated_count : 0;
  return [
    `${formatMemories(imported_count)} imported.`,
    ...(updated > 0 ? [`${formatMemories(updated)} updated.`] : []),
    ...(unchanged_count > 0 ? [`${formatCount(unchanged_count, 'memory was', 'memories were')} there already.`] : []),
    ...(result.redacted ? ['Secrets in the texts were removed.'] : []),
  ].join(' ');
}

type Refused = (ImportResponse | FileImportResponse)['refused'][number];

const getPlace = (item: Refused): string => ('line' in item ? `Line ${item.line}` : item.place);

async function* toLines(refused: readonly Refused[]): AsyncGenerator<string> {
  for (const item of refused) yield `${JSON.stringify(item)}\n`;
}
