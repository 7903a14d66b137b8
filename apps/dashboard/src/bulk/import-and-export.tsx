import { Suspense, useEffect, useEffectEvent, useState } from 'preact/compat';
import { lazyView } from '../lazy-view.ts';
import { Menu } from '../parts/menu.tsx';
import { Loading } from '../parts/notice.tsx';
import './import-and-export.css';

const ImportDialog = lazyView('ImportDialog');
const ExportMenu = lazyView('ExportMenu');

/** The buttons Import and Export. A file that is dropped on the page is imported. */
export function ImportAndExport({ params }: { params: URLSearchParams }) {
  const [isOpen, setIsOpen] = useState(false);
  const [file, setFile] = useState<File>();
  const [isOver, setIsOver] = useState(false);
  const over = useEffectEvent((event: DragEvent) => {
    if (!hasFiles(event)) return;
    // Without this, the browser opens the file.
    event.preventDefault();
    setIsOver(isDialogClosed() || (isOpen && !file));
  });
  const drop = useEffectEvent((event: DragEvent) => {
    const dropped = event.dataTransfer?.files[0];
    if (!hasFiles(event)) return;
    event.preventDefault();
    if (!isOver || !dropped) return;
    setIsOver(false);
    setFile(dropped);
    setIsOpen(true);
  });
  useEffect(() => {
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setIsOver(false);
    };
    const listeners = {
      dragover: (event: DragEvent) => over(event),
      dragleave: leave,
      drop: (event: DragEvent) => drop(event),
    };
    for (const [name, listener] of Object.entries(listeners)) addEventListener(name as 'drop', listener);
    return () => {
      for (const [name, listener] of Object.entries(listeners)) removeEventListener(name as 'drop', listener);
    };
  }, []);
  const close = () => {
    setIsOpen(false);
    setFile(undefined);
  };
  return (
    <>
      <button type="button" onClick={() => setIsOpen(true)}>
        Import
      </button>
      <Menu label="Export" title="Export">
        {(closeMenu) => (
          <Suspense fallback={<Loading what="the formats" />}>
            <ExportMenu params={params} onChosen={closeMenu} />
          </Suspense>
        )}
      </Menu>
      {isOver && <p className="drop-hint">Drop the file to import it</p>}
      {isOpen && (
        <Suspense fallback={null}>
          <ImportDialog file={file} onFile={setFile} onClose={close} />
        </Suspense>
      )}
    </>
  );
}

const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes('Files') ?? false;

/** A dialog that is open for something else must not be covered. */
const isDialogClosed = (): boolean => document.querySelector('dialog[open]') === null;
