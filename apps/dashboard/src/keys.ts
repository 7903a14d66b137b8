import { useEffect, useEffectEvent } from 'preact/compat';

/** A key of the dashboard, as the help dialog lists it. */
interface Key {
  /** The part of the dashboard in which the key works. */
  room: string;
  /** The keys, each as its keyboard shows it. */
  keys: readonly string[];
  /** The effect of the key. */
  does: string;
}

/** All keys. Each has a visible control that does the same. */
export const KEYS: readonly Key[] = [
  { room: 'Everywhere', keys: ['/', 'Ctrl K'], does: 'Go to the search field' },
  { room: 'Everywhere', keys: ['Enter'], does: 'Search, in the search field' },
  { room: 'Everywhere', keys: ['Ctrl Enter'], does: 'Ask instead of search, or search instead of ask' },
  { room: 'Everywhere', keys: ['Esc'], does: 'Close the open memory' },
  { room: 'Everywhere', keys: ['?'], does: 'Show this list' },
  { room: 'Table', keys: ['j', 'k'], does: 'Go to the next or previous row' },
  { room: 'Table', keys: ['Enter'], does: 'Open the row, or order by the column' },
  { room: 'Table', keys: ['x'], does: 'Select the row, or end its selection' },
  { room: 'Table', keys: ['Shift ↑', 'Shift ↓'], does: 'Extend the selection' },
  { room: 'Table', keys: ['Ctrl A'], does: 'Select the loaded rows, and then all that match' },
  { room: 'Table', keys: ['Esc'], does: 'End the selection' },
  { room: 'Table', keys: ['e'], does: 'Edit the text of the row' },
  { room: 'Table', keys: ['t'], does: 'Tag the selected rows' },
  { room: 'Table', keys: ['#'], does: 'Forget the selected rows' },
  { room: 'Results, sessions and runs', keys: ['j', 'k'], does: 'Go to the next or previous row' },
  { room: 'Results, sessions and runs', keys: ['Enter'], does: 'Open the row' },
  { room: 'Open memory', keys: ['e'], does: 'Edit the text' },
  { room: 'Open memory', keys: ['t'], does: 'Edit the tags' },
  { room: 'Open memory', keys: ['c'], does: 'Correct: store what is true now' },
  { room: 'Open memory', keys: ['#'], does: 'Forget, or undo it for ten seconds' },
  { room: 'Open memory', keys: ['j', 'k'], does: 'Open the next or previous memory of the list' },
  { room: 'Open memory', keys: ['Ctrl Enter'], does: 'Save, in a form' },
  { room: 'Open memory', keys: ['Esc'], does: 'Close the form and keep the draft' },
  { room: 'Corrections', keys: ['j', 'k'], does: 'Go to the next or previous pair' },
  { room: 'Corrections', keys: ['a'], does: 'Accept the pair' },
  { room: 'Corrections', keys: ['d'], does: 'Decline the pair' },
  { room: 'Corrections', keys: ['u'], does: 'Undo the last acceptance' },
  { room: 'Map', keys: ['←', '→', '↑', '↓'], does: 'Move the map, and point at the memory next to its middle' },
  { room: 'Map', keys: ['+', '-', '0'], does: 'Zoom in or out, or show all' },
  { room: 'Map', keys: ['Enter', 'x'], does: 'Open or select the memory that is pointed at' },
  { room: 'Admin', keys: ['j', 'k'], does: 'Go to the next or previous row' },
];

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
  useEffect(() => {
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
