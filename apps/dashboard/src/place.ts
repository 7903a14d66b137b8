import { useMemo, useSyncExternalStore } from 'react';

/** Where in the page one is: the name of a view and what it shows. Kept after the `#`, which no server is told. */
export interface Place {
  view: string;
  asked: URLSearchParams;
}

/** The address of a place; conditions without a value are left out. */
export function addressOf(view: string, asked: Record<string, string> | URLSearchParams = {}): string {
  const query = new URLSearchParams(asked).toString();
  return query === '' ? `#/${view}` : `#/${view}?${query}`;
}

/** Goes to a place; `replace` leaves the one before out of the history. */
export function goTo(address: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  dispatchEvent(new Event('hashchange'));
}

/** The place shown now; changes with links and with the browser's buttons. */
export function usePlace(): Place {
  const hash = useSyncExternalStore(subscribe, () => location.hash);
  return useMemo(() => placeOf(hash), [hash]);
}

/** The conditions of the place shown now, for who acts later than they were asked. */
export const askedNow = (): URLSearchParams => placeOf(location.hash).asked;

function subscribe(changed: () => void): () => void {
  addEventListener('hashchange', changed);
  return () => removeEventListener('hashchange', changed);
}

function placeOf(hash: string): Place {
  const [view = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  return { view, asked: new URLSearchParams(query) };
}
