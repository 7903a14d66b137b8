import { type MemoryApi, MemoryClient, MemoryError, type MemoryScope } from '@memoryd/client';
import { createContext, type ReactNode, useCallback, useContext, useMemo, useRef, useState } from 'react';
import type { Unsaved } from './draft.ts';
import { keep, kept } from './kept.ts';
import { getScope, usePlace } from './place.ts';

/** Where a key is kept: until the tab is closed, and for this tab alone. */
const KEPT_AS = 'memoryd-api-key';

/** The service that serves the page: one folder above it. */
export const SERVICE_URL = serviceUrl();

function serviceUrl(): string {
  const url = new URL('..', document.baseURI);
  // A name and password for a proxy, of which the browser has taken note: requests may not go to a URL with them.
  url.username = '';
  url.password = '';
  return url.href.replace(/\/$/, '');
}

/** The memories that the page shows: of all, or of one user or agent; runs of consolidation are about all of them. */
export type Memories = Pick<MemoryClient, keyof MemoryApi | 'health' | 'metrics'>;

/** The service as the page talks with it. */
interface Service {
  memory: Memories;
  /** Whose memories these are, as text; empty for those of all. */
  shownFor: string;
  /** Why the address names nobody whose memories could be shown; undefined where it does not. */
  scopeError: unknown;
  hasKey: boolean;
  /** Why a key has to be given before anything can be shown; undefined where none has. */
  keyNeeded: string | undefined;
  /** Shows this key from now on; undefined shows none. */
  showKey(key: string | undefined): void;
  /** Takes an error, and asks for a key where it says that one is needed. */
  noteRefusal(error: unknown): void;
  /** What was written and not saved yet, by the id of its memory: it outlives the view, which a sign-in takes away. */
  unsaved: Map<string, Unsaved>;
}

const ServiceContext = createContext<Service | undefined>(undefined);

export function ServiceProvider({ children }: { children: ReactNode }) {
  const [key, setKey] = useState(() => kept('sessionStorage', KEPT_AS));
  const [keyNeeded, setKeyNeeded] = useState<string>();
  // Who looks at a page tries again themselves, so few attempts are made for them.
  const client = useMemo(
    () => new MemoryClient({ url: SERVICE_URL, retries: 2, ...(key !== undefined && { apiKey: key }) }),
    [key],
  );
  const scope = getScope(usePlace().asked);
  const shownFor = scope ? JSON.stringify(scope) : '';
  const { memory, scopeError } = useMemo(() => memoriesFor(client, shownFor), [client, shownFor]);
  const [unsaved] = useState(() => new Map<string, Unsaved>());
  const shownNow = useRef(key);
  const showKey = useCallback(
    (given: string | undefined) => {
      keep('sessionStorage', KEPT_AS, given);
      if (given === undefined) unsaved.clear();
      shownNow.current = given;
      setKey(given);
      setKeyNeeded(undefined);
    },
    [unsaved],
  );
  const noteRefusal = useCallback(
    (error: unknown) => {
      // What was asked with an earlier key says nothing of this one.
      if (shownNow.current !== key) return;
      if (error instanceof MemoryError && error.code === 'UNAUTHORIZED') setKeyNeeded(error.message);
    },
    [key],
  );
  const service = { memory, shownFor, scopeError, hasKey: key !== undefined, keyNeeded, showKey, noteRefusal, unsaved };
  return <ServiceContext value={service}>{children}</ServiceContext>;
}

function memoriesFor(client: MemoryClient, shownFor: string): Pick<Service, 'memory' | 'scopeError'> {
  if (shownFor === '') return { memory: client, scopeError: undefined };
  try {
    return { memory: memoriesIn(client, JSON.parse(shownFor)), scopeError: undefined };
  } catch (scopeError) {
    return { memory: client, scopeError };
  }
}

function memoriesIn(client: MemoryClient, scope: MemoryScope): Memories {
  return {
    ...client.scope(scope),
    consolidate: (...args) => client.consolidate(...args),
    consolidations: (...args) => client.consolidations(...args),
    consolidation: (...args) => client.consolidation(...args),
    undo: (...args) => client.undo(...args),
    users: (...args) => client.users(...args),
    health: (...args) => client.health(...args),
    metrics: (...args) => client.metrics(...args),
  };
}

export function useService(): Service {
  const service = useContext(ServiceContext);
  if (!service) throw new Error('the page stands outside its service');
  return service;
}
