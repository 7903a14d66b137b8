/** Where a browser keeps something: for good, or until the tab is closed. */
type Where = 'localStorage' | 'sessionStorage';

/** What was kept under a name; undefined also where the browser is told to keep nothing, which it says by throwing. */
export function kept(where: Where, name: string): string | undefined {
  try {
    return globalThis[where].getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Keeps something under a name, as far as the browser may; undefined takes it away. */
export function keep(where: Where, name: string, value: string | undefined): void {
  try {
    if (value === undefined) globalThis[where].removeItem(name);
    else globalThis[where].setItem(name, value);
  } catch {
    // It holds as long as the page is open.
  }
}
