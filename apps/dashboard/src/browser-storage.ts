/** `localStorage` survives the browser; `sessionStorage` lasts until the tab is closed. */
type Area = 'localStorage' | 'sessionStorage';

/** Returns a stored value, or undefined if it is missing or the browser blocks storage (access then throws). */
export function getStored(area: Area, name: string): string | undefined {
  try {
    return globalThis[area].getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Stores a value; undefined removes it. Does nothing if the browser blocks storage. */
export function setStored(area: Area, name: string, value: string | undefined): void {
  try {
    if (value === undefined) globalThis[area].removeItem(name);
    else globalThis[area].setItem(name, value);
  } catch {
    // The value then lasts only as long as the page.
  }
}
