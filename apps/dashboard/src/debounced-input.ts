import { useEffect, useRef, useState } from 'preact/compat';

/**
 * Returns the text of an input and its setter. `commit` receives the trimmed text once no key was pressed for `delayMs`. If
 * `value` changes for another reason, the input shows it.
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
