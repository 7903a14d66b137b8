import { useEffectEvent, useLayoutEffect } from 'preact/compat';

/**
 * All keys: for each part of the dashboard, the keys as a keyboard shows them, separated by commas, and their effect.
 * Each key has a visible control that does the same.
 */
export const KEYS: Readonly<Record<string, readonly (readonly [keys: string, effect: string])[]>> = {
  Everywhere: [
    ['/, Ctrl K', 'Go to the search field'],
    ['Enter', 'Search, in the search field'],
    ['Ctrl Enter', 'Ask instead of search, or search instead of ask'],
    ['Esc', 'Close the open memory'],
    ['?', 'Show this list'],
  ],
  Table: [
    ['j, k', 'Go to the next or previous row'],
    ['Enter', 'Open the row, or order by the column'],
    ['x', 'Select the row, or end its selection'],
    ['Shift ↑, Shift ↓', 'Extend the selection'],
    ['Ctrl A', 'Select the loaded rows, and then all that match'],
    ['Esc', 'End the selection'],
    ['e', 'Edit the text of the row'],
    ['t', 'Tag the selected rows'],
    ['#', 'Forget the selected rows'],
  ],
  'Results, sessions and runs': [
    ['j, k', 'Go to the next or previous row'],
    ['Enter', 'Open the row'],
  ],
  'Open memory': [
    ['e', 'Edit the text'],
    ['t', 'Edit the tags'],
    ['c', 'Correct: store what is true now'],
    ['#', 'Forget, or undo it for ten seconds'],
    ['j, k', 'Open the next or previous memory of the table'],
    ['Ctrl Enter', 'Save, in a form'],
    ['Esc', 'Close the form and keep the draft'],
  ],
  Corrections: [
    ['j, k', 'Go to the next or previous pair'],
    ['a', 'Accept the pair'],
    ['d', 'Decline the pair'],
    ['u', 'Undo the last acceptance'],
  ],
  Map: [
    ['←, →, ↑, ↓', 'Move the map, and point at the memory next to its middle'],
    ['+, -, 0', 'Zoom in or out, or show all'],
    ['Enter, x', 'Open or select the memory that is pointed at'],
  ],
  Admin: [['j, k', 'Go to the next or previous row']],
};

/** Handlers by key: `j`, `?`, `Escape`, `Ctrl+k` (also Command), `Shift+ArrowDown`. */
type KeyHandlers = Readonly<Record<string, (event: KeyboardEvent) => void>>;

/**
 * Calls a handler when its key is pressed, and prevents the default action of the key. Keys have no effect while a text
 * field has the focus or a dialog is open.
 */
export function useKeys(handlers: KeyHandlers): void {
  useKeyListener((event) => {
    const name = getKeyName(event);
    if (!Object.hasOwn(handlers, name)) return;
    event.preventDefault();
    handlers[name]?.(event);
  });
}

/** Calls a listener for each pressed key, except in a text field, while a dialog is open, and if the key had an effect. */
export function useKeyListener(listen: (event: KeyboardEvent) => void): void {
  const handle = useEffectEvent((event: KeyboardEvent) => {
    if (event.defaultPrevented || isTextField(event.target) || document.querySelector('dialog[open]')) return;
    listen(event);
  });
  useLayoutEffect(() => {
    const listener = (event: KeyboardEvent) => handle(event);
    document.addEventListener('keydown', listener);
    return () => document.removeEventListener('keydown', listener);
  }, []);
}

/** Returns the name of a pressed key. Shift is part of the name of keys that do not print a character. */
export function getKeyName({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): string {
  return [
    ctrlKey || metaKey ? 'Ctrl+' : '',
    altKey ? 'Alt+' : '',
    shiftKey && key.length > 1 ? 'Shift+' : '',
    ctrlKey || metaKey ? key.toLowerCase() : key,
  ].join('');
}

const BUTTON_TYPES = ['button', 'checkbox', 'radio', 'range', 'reset', 'submit', 'file', 'color'];

/** Returns whether typing in an element enters text or selects an option. */
export function isTextField(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return !BUTTON_TYPES.includes(target.type);
  return (
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement ||
    (target instanceof HTMLElement && target.isContentEditable)
  );
}
