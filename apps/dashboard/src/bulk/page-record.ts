import { getStored, getStoredNames, setStored } from '../browser-storage.ts';

/** Interval at which an open page writes its record again. Browsers call timers of hidden pages once a minute. */
const RENEWAL_MS = 20_000;

/** Age after which another page's record belongs to a page that crashed. */
const MAX_AGE_MS = 120_000;

/** The unfinished work of a page. */
interface PageRecord<Item> {
  items: readonly Item[];
  at: number;
  /** Whether the page that wrote the record was closed. */
  isClosed: boolean;
}

const pageId = `${Date.now()}.${Math.random()}`;

/**
 * Records what this page has not completed, so that the next page can report it. Items must contain no texts, because the
 * next person at the browser may be another one.
 *
 * @param name names the stored records. Each page has a record of its own
 */
export function createPageRecord<Item>(name: string) {
  let current: readonly Item[] = [];
  let isClosed = false;
  const write = () => {
    const record: PageRecord<Item> = { items: current, at: Date.now(), isClosed };
    setStored('localStorage', `${name} ${pageId}`, current.length === 0 ? undefined : JSON.stringify(record));
  };
  const setClosed = ({ type }: Event) => {
    isClosed = type === 'pagehide';
    write();
  };
  setInterval(write, RENEWAL_MS);
  globalThis.addEventListener?.('pagehide', setClosed);
  // The browser may show a page again that was closed.
  globalThis.addEventListener?.('pageshow', setClosed);
  return {
    /** Replaces the items of this page, unless it is closed: its requests fail then. */
    set(items: readonly Item[]): void {
      if (isClosed) return;
      current = items;
      write();
    },
    /** Returns the items of closed pages, and deletes their records. */
    take(): Item[] {
      return getStoredNames('localStorage', name).flatMap((stored) => {
        const text = getStored('localStorage', stored);
        if (text === undefined) return [];
        const { items, at, isClosed }: PageRecord<Item> = JSON.parse(text);
        if (!isClosed && Date.now() - at < MAX_AGE_MS) return [];
        setStored('localStorage', stored, undefined);
        return items;
      });
    },
  };
}
