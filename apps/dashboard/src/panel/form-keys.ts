import type { TargetedEvent } from 'preact/compat';

/** Handles the keys of a form: Ctrl+Enter submits it, Escape leaves it. */
export const createFormKeys =
  (onLeave: () => void) =>
  (event: TargetedEvent<HTMLFormElement, KeyboardEvent>): void => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
    else if (event.key === 'Escape') onLeave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
