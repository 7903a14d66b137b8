import { useEffectEvent, useLayoutEffect } from 'preact/compat';
import { getKeyName, isTextField } from '../keys.ts';

/** Calls a handler when its key is pressed while the focus is in the open memory, but not in a text field. */
export function usePanelKeys(handlers: Readonly<Record<string, (() => void) | undefined>>): void {
  const handle = useEffectEvent((event: KeyboardEvent) => {
    const { target } = event;
    if (!(target instanceof Element) || !target.closest('.beside') || isTextField(target)) return;
    const name = getKeyName(event);
    if (!Object.hasOwn(handlers, name)) return;
    // Keys of the view, such as `j`, do nothing here.
    event.preventDefault();
    handlers[name]?.();
  });
  useLayoutEffect(() => {
    const listener = (event: KeyboardEvent) => handle(event);
    document.addEventListener('keydown', listener, { capture: true });
    return () => document.removeEventListener('keydown', listener, { capture: true });
  }, []);
}
