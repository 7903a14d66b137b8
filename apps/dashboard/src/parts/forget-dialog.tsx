import type { ForgetResponse, Memory } from '@memoryd/client';
import { useState } from 'preact/compat';
import { formatCount } from '../format.ts';
import { useService } from '../service.tsx';
import { Dialog } from './dialog.tsx';
import { Failure } from './notice.tsx';

interface ForgetDialogProps {
  memory: Memory;
  /** Receives a message for the user. */
  onDone: (message: string) => void;
  onClose: () => void;
}

/** Asks for confirmation and forgets a memory, unless another client has changed the memory since it was loaded. */
export function ForgetDialog({
  memory: { id, content, version, merged_into: mergedInto },
  onDone,
  onClose,
}: ForgetDialogProps) {
  const { memory, handleAuthError } = useService();
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const forget = async () => {
    setIsBusy(true);
    try {
      onDone(describeOutcome(await memory.forget(id, { ifVersions: [version] })));
    } catch (failure) {
      handleAuthError(failure);
      setError(failure);
      setIsBusy(false);
    }
  };
  return (
    <Dialog title="Forget this memory?" onClose={onClose}>
      <blockquote className="memory-text clamped" dir="auto">
        {content}
      </blockquote>
      <p>
        {mergedInto === null
          ? 'This deletes the memory, its history, its merged duplicates and the summaries distilled from it.'
          : 'This deletes only the duplicate. The memory that the duplicate was merged into keeps the text.'}{' '}
        This cannot be undone.
      </p>
      {error !== undefined && <Failure error={error} />}
      <div className="actions">
        <button type="button" onClick={onClose}>
          {isBusy ? 'Close' : 'Cancel'}
        </button>
        <button type="button" className="danger" disabled={isBusy} onClick={forget}>
          Forget memory
        </button>
      </div>
    </Dialog>
  );
}

function describeOutcome({
  also_forgotten: others = [],
  remaining_duplicates: remaining = [],
}: ForgetResponse): string {
  const also = formatCount(others.length, 'duplicate or summary', 'duplicates and summaries');
  const left = formatCount(remaining.length, 'duplicate still has', 'duplicates still have');
  return [
    others.length === 0 ? 'Memory forgotten.' : `Memory forgotten, together with ${also}.`,
    ...(remaining.length === 0 ? [] : [`${left} this text.`]),
  ].join(' ');
}
