/** `localStorage` persists after the browser is closed; `sessionStorage` lasts until the tab is closed. */
type Area = 'localStorage' | 'sessionStorage';

/**
 * Returns a stored value; undefined if the value is missing, or if access throws because the browser blocks storage.
 */
export function getStored(area: Area, name: string): string | undefined {
  try {
    return globalThis[area].getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Stores a value; undefined removes it. Does nothing if the browser blocks storage or the storage is full. */
export function setStored(area: Area, name: string, value: string | undefined): void {
  try {
    if (value === undefined) globalThis[area].removeItem(name);
    else globalThis[area].setItem(name, value);
  } catch {
    // Without storage, the value is lost when the page is closed.
  }
}

/** Removes all values of the tab. */
export function clearSessionStorage(): void {
  try {
    sessionStorage.clear();
  } catch {
    // A browser that blocks storage has no values.
  }
}

/** Returns the names of the stored values that begin with `prefix`. */
export function getStoredNames(area: Area, prefix: string): string[] {
  try {
    return Object.keys(globalThis[area]).filter((name) => name.startsWith(prefix));
  } catch {
    return [];
  }
}
