import { type ReactNode, useId, useLayoutEffect, useRef } from 'preact/compat';

/** A modal dialog, open while it is rendered. Escape and the browser's close gesture call `onClose`. */
export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // Closes the dialog before its element is removed, so that the browser returns the focus to the button that opened
  // the dialog.
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      // A file picker that is cancelled sends the event, too.
      onCancel={({ target, currentTarget }) => target === currentTarget && onClose()}
    >
      <h2 id={titleId}>{title}</h2>
      {children}
    </dialog>
  );
}
