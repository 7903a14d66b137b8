import { type ReactNode, useId, useState } from 'preact/compat';
import { useAction } from '../action.ts';
import { focusOnMount } from '../focus.ts';
import { FormDialog } from '../parts/form-dialog.tsx';

interface ConfirmDialogProps {
  title: string;
  /** Label of the button that acts. */
  label: string;
  /** Text that has to be typed before; undefined if the button is enough. */
  typed?: string;
  /** Acts, and returns a message for the user. */
  act: () => Promise<string>;
  onDone: (message: string) => void;
  onClose: () => void;
  children: ReactNode;
}

/** Asks for confirmation of an action that cannot be undone. */
export function ConfirmDialog({ title, label, typed, act, onDone, onClose, children }: ConfirmDialogProps) {
  const [text, setText] = useState('');
  const action = useAction(act, onDone);
  const inputId = useId();
  const isReady = typed === undefined || text === typed;
  return (
    <FormDialog {...{ title, action, label, isReady, onClose }} isDanger>
      {children}
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
    </FormDialog>
  );
}
