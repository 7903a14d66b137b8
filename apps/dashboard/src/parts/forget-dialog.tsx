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
export function ForgetDialog({
  memory: { id, content, version, merged_into: mergedInto },
  onDone,
  onClose,
}: ForgetDialogProps) {
  const { memory, noteRefusal } = useService();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const forget = async () => {
    setBusy(true);
    try {
      const forgotten = await memory.forget(id, { ifVersions: [version] });
      const { also_forgotten: others = [], remaining_duplicates: remaining = [] } = forgotten;
      const more =
        others.length === 0
          ? ''
          : `, and with it ${counted(others.length, 'duplicate or summary', 'duplicates and summaries')}`;
      const left =
        remaining.length === 0
          ? ''
          : ` ${counted(remaining.length, 'duplicate still has', 'duplicates still have')} this text.`;
      onDone(`Forgotten for good${more}.${left}`);
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
        {mergedInto === null
          ? 'Deletes this memory for good, with its history, its hidden duplicates and what was distilled from it.'
          : 'Deletes this hidden duplicate for good. The memory that it was merged into still has the text.'}{' '}
        This cannot be undone.
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
