import {
  type CallOptions,
  type ImportedFile,
  type ImportFileRequest,
  type MemoryApi,
  MemoryClient,
  MemoryError,
  type MemoryScope,
} from '@memoryd/client';
import { createContext, type ReactNode, useCallback, useContext, useMemo, useRef, useState } from 'preact/compat';
import { newKey } from './admin/new-key.ts';
import { clearSessionStorage, getStored, setStored } from './browser-storage.ts';
import { abandonForgets } from './bulk/pending-forgets.ts';
import { removeAllToasts } from './bulk/toasts.ts';
import { clearNewMemory } from './new-memory.ts';
import { getScope, goTo, useRoute } from './route.ts';
import { UnsavedDrafts } from './unsaved-drafts.ts';

/**
 * Name of the API key in the session storage, which each tab has separately and which is cleared when the tab is
 * closed.
 */
const KEY_STORAGE_NAME = 'memoryd-api-key';

/** The id in an API key. The rest of the key is secret. */
const KEY_ID = /(?<=^mmd_)[0-9a-f]{16}(?=_)/;

/** URL of the service: the folder above the page. */
export const SERVICE_URL = new URL('..', document.baseURI).href.replace(/\/$/, '');

/** The client of the service, bound to the current scope. Consolidation runs always cover all memories. */
export type Memories = Pick<MemoryClient, keyof MemoryApi | 'health' | 'importFile'>;

interface Service {
  memory: Memories;
  /** The client of the service without a scope, for the choice of a scope. */
  everything: Memories;
  /** The current scope as text; empty if all memories are shown. */
  scopeKey: string;
  /** The error if the scope in the address is invalid; otherwise undefined. */
  scopeError: unknown;
  apiKey: string | undefined;
  /** Id of the API key, which is a part of it. A key of the settings has none. */
  keyId: string | undefined;
  hasKey: boolean;
  /** The error message of the service if the service needs an API key; otherwise undefined. */
  authError: string | undefined;
  /** Sets the API key of all later requests; undefined removes it. */
  setApiKey(key: string | undefined): void;
  /** Asks the user for an API key if the error is UNAUTHORIZED. */
  handleAuthError(error: unknown): void;
  /** Unsaved edits. Stored here because the panel unmounts while the user signs in. */
  unsaved: UnsavedDrafts;
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
  const [unsaved] = useState(() => new UnsavedDrafts());
  const currentKey = useRef(key);
  const setApiKey = useCallback(
    (next: string | undefined) => {
      setStored('sessionStorage', KEY_STORAGE_NAME, next);
      // The next person must not see a key that was created before.
      if (next !== newKey.get()?.key) newKey.set(undefined);
      // The first key is made by the person who uses the page.
      if (currentKey.current !== undefined && next !== currentKey.current) {
        unsaved.lock();
        // The messages contain texts, and their buttons would send the previous key.
        abandonForgets();
        removeAllToasts();
        clearNewMemory();
      }
      if (next === undefined) {
        unsaved.clear();
        // The address contains a search, or the name of a user.
        goTo('#/', { replace: true });
        // Positions of lists contain names of sessions.
        clearSessionStorage();
      }
      currentKey.current = next;
      setKey(next);
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
  const service = {
    memory,
    everything: client,
    scopeKey,
    scopeError,
    apiKey: key,
    keyId: key && KEY_ID.exec(key)?.[0],
    hasKey,
    authError,
    setApiKey,
    handleAuthError,
    unsaved,
  };
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
  const { userId, agentId } = scope;
  const owner = {
    ...(userId !== undefined && { user_id: userId }),
    ...(agentId !== undefined && { agent_id: agentId }),
  };
  return {
    ...client.scope(scope),
    consolidate: (...args) => client.consolidate(...args),
    consolidations: (...args) => client.consolidations(...args),
    consolidation: (...args) => client.consolidation(...args),
    undo: (...args) => client.undo(...args),
    users: (...args) => client.users(...args),
    importFile: (file: ImportedFile, request?: ImportFileRequest, call?: CallOptions) =>
      // The overloads differ only in what the result of a known format is.
      client.importFile(file, { ...request, ...owner }, call) as Promise<never>,
    health: (...args) => client.health(...args),
  };
}

export function useService(): Service {
  const service = useContext(ServiceContext);
  if (!service) throw new Error('useService must be used within <ServiceProvider>');
  return service;
}
