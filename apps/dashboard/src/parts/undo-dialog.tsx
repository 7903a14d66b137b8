import { useState } from 'preact/compat';
import { useService } from '../service.tsx';
import { Dialog } from './dialog.tsx';
import { Failure } from './notice.tsx';

interface UndoDialogProps {
  runId: string;
  onDone: () => void;
  onClose: () => void;
}

/** Asks for confirmation and undoes a consolidation run. */
export function UndoDialog({ runId, onClose, onDone }: UndoDialogProps) {
  const { memory, handleAuthError } = useService();
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const undo = async () => {
    setIsBusy(true);
    try {
      await memory.undo(runId);
      onDone();
      onClose();
    } catch (failure) {
      handleAuthError(failure);
      setError(failure);
      setIsBusy(false);
    }
  };
  return (
    <Dialog title="Undo this run?" onClose={onClose}>
      <p>This restores every memory that the run changed. The next run may make the same changes again.</p>
      {error !== undefined && <Failure error={error} />}
      <div className="actions">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" className="danger" disabled={isBusy} onClick={undo}>
          Undo run
        </button>
      </div>
    </Dialog>
  );
}
