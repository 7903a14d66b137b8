import { useEffect, useRef, useState } from 'preact/compat';

/**
 * Returns the text of an input and its setter. Calls `commit` with the trimmed text `delayMs` after the last key press.
 * If `value` changes other than through `commit`, such as by navigation, replaces the text with `value`.
 */
export function useDebouncedInput(value: string, commit: (text: string) => void, delayMs: number) {
  const [text, setText] = useState(value);
  const committed = useRef(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    if (value === committed.current) return;
    committed.current = value;
    setText(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (typed: string) => {
    setText(typed);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      committed.current = typed.trim();
      commit(typed.trim());
    }, delayMs);
  };
  return [text, type] as const;
}
