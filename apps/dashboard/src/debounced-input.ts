import { useEffect, useRef, useState } from 'preact/compat';

/**
 * Returns the text of an input, its setter, and a function that commits the text at once. Calls `commit` with the
 * trimmed text `delayMs` after the last key press. If `value` changes other than through `commit`, such as by
 * navigation, replaces the text with `value`.
 */
export function useDebouncedInput(value: string, commit: (text: string) => void, delayMs: number) {
  const [text, setText] = useState(value);
  const committed = useRef(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    if (value === committed.current) return;
    committed.current = value;
    clearTimeout(timer.current);
    setText(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const commitText = (typed: string) => {
    clearTimeout(timer.current);
    committed.current = typed.trim();
    commit(typed.trim());
  };
  const type = (typed: string) => {
    setText(typed);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => commitText(typed), delayMs);
  };
  return [text, type, () => commitText(text)] as const;
}
