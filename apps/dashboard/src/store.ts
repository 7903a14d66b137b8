import { useSyncExternalStore } from 'preact/compat';

/** A value outside of the components, for components in different parts of the page. */
interface Store<T> {
  get(): T;
  /** Replaces the value, and rerenders the components that use it. */
  set(value: T): void;
  use(): T;
}

export function createStore<T>(initial: T): Store<T> {
  let value = initial;
  const listeners = new Set<() => void>();
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return {
    get: () => value,
    set(next) {
      value = next;
      for (const notify of listeners) notify();
    },
    use: () => useSyncExternalStore(subscribe, () => value),
  };
}
