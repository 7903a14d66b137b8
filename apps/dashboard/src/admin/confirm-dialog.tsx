import { MemoryError } from '@memoryd/client';
import { type ReactNode, useId, useState } from 'preact/compat';
import { useAction } from '../action.ts';
import { focusOnMount } from '../focus.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Failure } from '../parts/notice.tsx';

interface ConfirmDialogProps {
  title: string;
  /** Label of the button that acts. */
  action: string;
  /** Text that has to be typed before; undefined if the button is enough. */
  typed?: string;
  /** Acts, and returns a message for the user. */
  act: () => Promise<string>;
  onDone: (message: string) => void;
  onClose: () => void;
  children: ReactNode;
}

/** Asks for confirmation of an action that cannot be undone. Stays open with the reason if the service refuses. */
export function ConfirmDialog({ title, action, typed, act, onDone, onClose, children }: ConfirmDialogProps) {
  const [text, setText] = useState('');
  const { run, isBusy, error } = useAction(act, onDone);
  const inputId = useId();
  const isConfirmed = typed === undefined || text === typed;
  const submit = (event: Event) => {
    event.preventDefault();
    if (isConfirmed) void run();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <Failure error={error} />
      {error instanceof MemoryError && error.isUnanswered && (
        <p>The service did not answer, so it may have done this or not. Close this dialog to see the current state.</p>
      )}
      <form className="stack" onSubmit={submit}>
        {typed !== undefined && (
          <>
            <label htmlFor={inputId}>
              Type <b className="long">{typed}</b> to confirm
            </label>
            <input
              id={inputId}
              ref={focusOnMount}
              autoComplete="off"
              spellcheck={false}
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
            />
          </>
        )}
        <div className="actions">
          <button type="button" onClick={onClose}>
            {isBusy ? 'Close' : 'Cancel'}
          </button>
          <button type="submit" className="danger" disabled={!isConfirmed || isBusy}>
            {isBusy ? 'Please wait…' : action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
