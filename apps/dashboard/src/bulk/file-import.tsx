import { type FileImportResponse, type ImportResponse, MemoryError } from '@memoryd/client';
import { type ReactNode, useEffect, useRef, useState } from 'preact/compat';
import { formatCount, formatNumber } from '../format.ts';
import { Failure, Loading } from '../parts/notice.tsx';
import { useService } from '../service.tsx';
import { useEventListener } from '../watch.tsx';
import { EarlierImports } from './earlier-imports.tsx';
import { type ImportOptions, importFile, type Preview, previewFile } from './import-file.ts';
import { ImportForm } from './import-form.tsx';
import { ImportResult } from './import-result.tsx';
import { removeToast, showToast } from './toasts.ts';

type State =
  | { step: 'reading' }
  | { step: 'preview'; preview: Preview | undefined; error?: unknown }
  | { step: 'importing'; preview: Preview }
  | { step: 'stopped'; preview: Preview; error: unknown }
  | { step: 'done'; result: ImportResponse | FileImportResponse };

interface FileImportProps {
  file: File;
  onClose: () => void;
  /** The button that chooses another file. */
  children: ReactNode;
}

/** The import of one file, from its preview to its undo. */
export function FileImport({ file, onClose, children }: FileImportProps) {
  const { memory, handleAuthError } = useService();
  const [options, setOptions] = useState<ImportOptions>({ from: 'auto' });
  const [state, setState] = useState<State>({ step: 'reading' });
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => stop(running.current, file.name), [file]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another key or scope does not read the file again
  useEffect(() => {
    const controller = new AbortController();
    setState({ step: 'reading' });
    previewFile(memory, file, options, controller.signal).then(
      (preview) => setState({ step: 'preview', preview }),
      (error) => {
        if (controller.signal.aborted) return;
        handleAuthError(error);
        setState({ step: 'preview', preview: undefined, error });
      },
    );
    return () => controller.abort();
  }, [file, options]);

  const start = async (preview: Preview) => {
    const controller = new AbortController();
    running.current = controller;
    setState({ step: 'importing', preview });
    try {
      const result = await importFile(memory, file, { ...options, from: preview.from }, controller.signal);
      running.current = undefined;
      setState({ step: 'done', result });
    } catch (error) {
      running.current = undefined;
      handleAuthError(error);
      setState({ step: 'stopped', preview, error });
    }
  };

  switch (state.step) {
    case 'reading':
      return (
        <>
          <Loading what={file.name} />
          <div className="actions">
            <button type="button" onClick={onClose}>
              Cancel
            </button>
          </div>
        </>
      );
    case 'preview':
      return (
        <ImportForm file={file} {...state} options={options} onOptions={setOptions} onImport={start} onClose={onClose}>
          {children}
        </ImportForm>
      );
    case 'importing':
      return <Progress name={file.name} total={state.preview.found_count} onStop={() => running.current?.abort()} />;
    case 'stopped': {
      const { error, preview } = state;
      return (
        <>
          {error instanceof MemoryError ? (
            <Failure error={error} />
          ) : (
            <p role="status">The import was stopped. What it has stored stays until you undo it.</p>
          )}
          <div className="actions">
            <button type="button" className="primary" onClick={() => start(preview)}>
              Continue the import
            </button>
            <button type="button" onClick={onClose}>
              Close
            </button>
          </div>
          <EarlierImports />
        </>
      );
    }
    case 'done':
      return <ImportResult name={file.name} result={state.result} onClose={onClose} />;
  }
}

/** Stops an import whose dialog was closed, and says so. */
function stop(running: AbortController | undefined, name: string): void {
  if (!running) return;
  running.abort();
  const key = `import ${name}`;
  const text = `The import of ${name} was stopped. Import the file again to continue, or undo it under Import.`;
  showToast({ key, text, isError: true, actions: [{ label: 'Dismiss', act: () => removeToast(key) }] });
}

function Progress({ name, total, onStop }: { name: string; total: number | undefined; onStop: () => void }) {
  const [done, setDone] = useState(0);
  useEventListener((events) => {
    const last = events.findLast((event) => event.type === 'import');
    if (last) setDone(last.processed_count);
  });
  return (
    <>
      <p role="status">
        Importing {name}…{done > 0 && ` ${formatNumber(done)} texts`}
        {done > 0 && total !== undefined && ` of ${formatCount(total, 'text')}`}
      </p>
      <progress aria-label="Progress of the import" max={total ?? 1} value={done > 0 ? done : undefined} />
      <div className="actions">
        <button type="button" onClick={onStop}>
          Stop
        </button>
      </div>
    </>
  );
}
