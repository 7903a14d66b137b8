import type { ReactNode } from 'preact/compat';

interface FormActionsProps {
  /** The button that submits the form. */
  children: ReactNode;
  /** Closes the form and keeps the draft. */
  onLeave: () => void;
  onDiscard: () => void;
}

/** The buttons of a form with a draft. */
export function FormActions({ children, onLeave, onDiscard }: FormActionsProps) {
  return (
    <div className="actions form-actions">
      {children}
      <button type="button" title="Close the form and keep the draft (Esc)" onClick={onLeave}>
        Later
      </button>
      <button type="button" onClick={onDiscard}>
        Discard
      </button>
    </div>
  );
}
