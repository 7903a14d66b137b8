import { type MemoryApi, MemoryClient, MemoryError, type MemoryScope } from '@memoryd/client';
import { createContext, type ReactNode, useCallback, useContext, useMemo, useRef, useState } from 'preact/compat';
import { getStored, setStored } from './browser-storage.ts';
import type { UnsavedDraft } from './draft.ts';
import { getScope, useRoute } from './route.ts';

/**
 * Name of the API key in the session storage, which each tab has separately and which is cleared when the tab is
 * closed.
 */
const KEY_STORAGE_NAME = 'memoryd-api-key';

/** URL of the service: the folder above the page. */
export const SERVICE_URL = getServiceUrl();

function getServiceUrl(): string {
  const url = new URL('..', document.baseURI);
  // The page may be opened with credentials for a proxy; `fetch` rejects URLs with credentials.
  url.username = '';
  url.password = '';
  return url.href.replace(/\/$/, '');
}

/** The client of the service, bound to the current scope. Consolidation runs always cover all memories. */
export type Memories = Pick<MemoryClient, keyof MemoryApi | 'health' | 'metrics'>;

interface Service {
  memory: Memories;
  /** The current scope as text; empty if all memories are shown. */
  scopeKey: string;
  /** The error if the scope in the address is invalid; otherwise undefined. */
  scopeError: unknown;
  hasKey: boolean;
  /** The error message of the service if the service needs an API key; otherwise undefined. */
  authError: string | undefined;
  /** Sets the API key of all later requests; undefined removes it. */
  setApiKey(key: string | undefined): void;
  /** Asks the user for an API key if the error is UNAUTHORIZED. */
  handleAuthError(error: unknown): void;
  /** Unsaved edits by memory id. Stored here because the view with the editor unmounts while the user signs in. */
  unsaved: Map<string, UnsavedDraft>;
}

const ServiceContext = createContext<Service | undefined>(undefined);

export function ServiceProvider({ children }: { children: ReactNode }) {
  const [key, setKey] = useState(() => getStored('sessionStorage', KEY_STORAGE_NAME));
  const [authError, setAuthError] = useState<string>();
  // Few retries, because the user is waiting and can retry.
  const client = useMemo(
    () => new MemoryClient({ url: SERVICE_URL, retries: 2, ...(key !== undefined && { apiKey: key }) }),
    [key],
  );
  const scope = getScope(useRoute().params);
  const scopeKey = scope ? JSON.stringify(scope) : '';
  const { memory, scopeError } = useMemo(() => bindScope(client, scopeKey), [client, scopeKey]);
  const [unsaved] = useState(() => new Map<string, UnsavedDraft>());
  const currentKey = useRef(key);
  const setApiKey = useCallback(
    (newKey: string | undefined) => {
      setStored('sessionStorage', KEY_STORAGE_NAME, newKey);
      if (newKey === undefined) unsaved.clear();
      currentKey.current = newKey;
      setKey(newKey);
      setAuthError(undefined);
    },
    [unsaved],
  );
  const handleAuthError = useCallback(
    (error: unknown) => {
      // Ignores an error of an earlier request that was sent with another key.
      if (currentKey.current !== key) return;
      if (error instanceof MemoryError && error.code === 'UNAUTHORIZED') setAuthError(error.message);
    },
    [key],
  );
  const hasKey = key !== undefined;
  const service = { memory, scopeKey, scopeError, hasKey, authError, setApiKey, handleAuthError, unsaved };
  return <ServiceContext.Provider value={service}>{children}</ServiceContext.Provider>;
}

function bindScope(client: MemoryClient, scopeKey: string): Pick<Service, 'memory' | 'scopeError'> {
  if (scopeKey === '') return { memory: client, scopeError: undefined };
  try {
    return { memory: createScopedClient(client, JSON.parse(scopeKey)), scopeError: undefined };
  } catch (scopeError) {
    return { memory: client, scopeError };
  }
}

function createScopedClient(client: MemoryClient, scope: MemoryScope): Memories {
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
  if (!service) throw new Error('useService must be used within <ServiceProvider>');
  return service;
}
