import { MemoryError } from '@memoryd/client';
import type { ReactNode } from 'preact/compat';
import type { useAction } from '../action.ts';
import { Dialog } from './dialog.tsx';
import { Failure } from './notice.tsx';

interface FormDialogProps {
  title: string;
  /** Runs when the form is submitted. */
  action: ReturnType<typeof useAction>;
  /** Label of the button that submits the form. */
  label: string;
  /** Whether the action deletes something. */
  isDanger?: boolean;
  /** Whether the form can be submitted. */
  isReady?: boolean;
  onClose: () => void;
  children: ReactNode;
}

/** A dialog with a form for one action. Stays open with the reason if the service refuses. */
export function FormDialog({ title, action, label, isDanger, isReady = true, onClose, children }: FormDialogProps) {
  const { run, isBusy, error } = action;
  const submit = (event: Event) => {
    event.preventDefault();
    if (isReady) void run();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        {children}
        <Failure error={error} />
        {error instanceof MemoryError && error.isUnanswered && (
          <p>
            The service did not answer, so it may have done this or not. Close this dialog to see the current state.
          </p>
        )}
        <div className="actions">
          <button type="button" onClick={onClose}>
            {isBusy ? 'Close' : 'Cancel'}
          </button>
          <button type="submit" className={isDanger ? 'danger' : 'primary'} disabled={!isReady || isBusy}>
            {isBusy ? 'Please wait…' : label}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
