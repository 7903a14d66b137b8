import type { Memory } from '@memoryd/client';
import { useState } from 'react';
import { counted } from '../format.ts';
import { useService } from '../service.tsx';
import { Dialog } from './dialog.tsx';
import { Failure } from './notice.tsx';

interface ForgetDialogProps {
  memory: Memory;
  /** Told what was done. */
  onDone: (what: string) => void;
  onClose: () => void;
}

/** Asks whether a memory is to be forgotten, and forgets it as long as nobody has changed it meanwhile. */
export function ForgetDialog({ memory: { id, content, version }, onDone, onClose }: ForgetDialogProps) {
  const { memory, noteRefusal } = useService();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const forget = async () => {
    setBusy(true);
    try {
      const { also_forgotten: others = [] } = await memory.forget(id, { ifVersions: [version] });
      const more =
        others.length === 0 ? '' : `, and with it ${counted(others.length, 'twin or summary', 'twins and summaries')}`;
      onDone(`Forgotten for good${more}.`);
    } catch (refused) {
      noteRefusal(refused);
      setError(refused);
      setBusy(false);
    }
  };
  return (
    <Dialog title="Forget this memory?" onClose={onClose}>
      <blockquote className="memory-text clamped" dir="auto">
        {content}
      </blockquote>
      <p>
        Its text leaves the database for good: its history, its twins and what was distilled from it too. It cannot be
        taken back.
      </p>
      {error !== undefined && <Failure error={error} />}
      <div className="actions">
        <button type="button" onClick={onClose}>
          {busy ? 'Close' : 'Keep it'}
        </button>
        <button type="button" className="danger" disabled={busy} onClick={forget}>
          Forget it
        </button>
      </div>
    </Dialog>
  );
}
