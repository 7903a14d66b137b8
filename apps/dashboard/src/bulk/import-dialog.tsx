import { useRef } from 'preact/compat';
import { Dialog } from '../parts/dialog.tsx';
import { EarlierImports } from './earlier-imports.tsx';
import { FileImport } from './file-import.tsx';
import './import.css';

interface ImportDialogProps {
  file: File | undefined;
  onFile: (file: File) => void;
  onClose: () => void;
}

/** Imports a file: shows what it contains, imports it, and undoes the import. Lists the earlier imports. */
export function ImportDialog({ file, onFile, onClose }: ImportDialogProps) {
  const input = useRef<HTMLInputElement>(null);
  const choose = (
    <>
      <input
        ref={input}
        type="file"
        hidden
        onChange={({ currentTarget: { files } }) => {
          const [chosen] = files ?? [];
          if (chosen) onFile(chosen);
        }}
      />
      <button type="button" className={file ? '' : 'primary'} onClick={() => input.current?.click()}>
        {file ? 'Choose another file' : 'Choose a file'}
      </button>
    </>
  );
  return (
    <Dialog title="Import" onClose={onClose}>
      <div className="import">
        {file ? (
          <FileImport key={`${file.name} ${file.size} ${file.lastModified}`} file={file} onClose={onClose}>
            {choose}
          </FileImport>
        ) : (
          <>
            <p>
              Conversations of ChatGPT and Claude, memories of mem0, Zep, Letta and memoryd, notes in Markdown, tables
              in CSV and JSON lines. You see what a file contains before anything is stored.
            </p>
            <div className="actions">
              {choose}
              <button type="button" onClick={onClose}>
                Close
              </button>
            </div>
            <EarlierImports />
          </>
        )}
      </div>
    </Dialog>
  );
}
