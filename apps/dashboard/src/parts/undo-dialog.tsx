import { useState } from 'react';
import { useService } from '../service.tsx';
import { Dialog } from './dialog.tsx';
import { Failure } from './notice.tsx';

interface UndoDialogProps {
  runId: string;
  onDone: () => void;
  onClose: () => void;
}

/** Asks whether a run is to be taken back, and does it. */
export function UndoDialog({ runId, onClose, onDone }: UndoDialogProps) {
  const { memory, noteRefusal } = useService();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const undo = async () => {
    setBusy(true);
    try {
      await memory.undo(runId);
      onDone();
      onClose();
    } catch (refused) {
      noteRefusal(refused);
      setError(refused);
      setBusy(false);
    }
  };
  return (
    <Dialog title="Take this run back?" onClose={onClose}>
      <p>What it promoted, merged, distilled and evicted is as it was before. The next run may do the same again.</p>
      {error !== undefined && <Failure error={error} />}
      <div className="actions">
        <button type="button" onClick={onClose}>
          Leave it
        </button>
        <button type="button" className="danger" disabled={busy} onClick={undo}>
          Take it back
        </button>
      </div>
    </Dialog>
  );
}
