import { useRef } from 'preact/compat';

/** Returns the first of several values that are equal as JSON, so that it can be a dependency of a hook. */
export function useStable<T>(value: T): T {
  const text = JSON.stringify(value);
  const first = useRef({ text, value });
  if (first.current.text !== text) first.current = { text, value };
  return first.current.value;
}
