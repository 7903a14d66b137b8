import type {
  ContextRequest,
  ContextResponse,
  MemoryApi,
  Scope,
  StoreOptions,
  StoreRequest,
  StoreResponse,
} from '@memoryd/contract';
import type { ChangedFields } from '../ports/storage-memories.ts';
import { forget, forgetMany, update } from './change-memories.ts';
import { undoChange, updateMany } from './changes.ts';
import { consolidate, consolidation, consolidations, undo } from './consolidation.ts';
import { type ContextOptions, context } from './context.ts';
import type { Core } from './core.ts';
import { corrections, decideCorrection } from './corrections.ts';
import { exportMemories } from './export-memories.ts';
import { facets } from './facets.ts';
import { growth } from './growth.ts';
import { importMemories } from './import-memories.ts';
import { importTexts } from './import-texts.ts';
import { imports, undoImport } from './imports.ts';
import { map } from './map.ts';
import { stats } from './namespaces.ts';
import { history, memories, memory, session, sessions, users } from './read-memories.ts';
import { recall } from './recall.ts';
import { recalls } from './recalls.ts';
import { related } from './related.ts';
import { store, storeAtOnce, storeBatch } from './store-memories.ts';

/**
 * Creates the API for the memories of one namespace, for callers whose API key has the permissions of `scope`. Recalls
 * are logged with `keyId`.
 */
export function memoryApi(core: Core, namespace: string, scope: Scope, keyId?: string): MemoryApi {
  return {
    store: (...args) => store(core, namespace, ...args),
    storeBatch: (...args) => storeBatch(core, namespace, ...args),
    recall: (request) => recall(core, namespace, request, keyId),
    context: (request) => context(core, namespace, request, { keyId }),
    session: (...args) => session(core, namespace, ...args),
    sessions: (...args) => sessions(core, namespace, ...args),
    users: (...args) => users(core, namespace, ...args),
    memory: (...args) => memory(core, namespace, ...args),
    history: (...args) => history(core, namespace, ...args),
    memories: (...args) => memories(core, namespace, ...args),
    facets: (...args) => facets(core, namespace, ...args),
    growth: (...args) => growth(core, namespace, ...args),
    map: (...args) => map(core, namespace, ...args),
    related: (...args) => related(core, namespace, ...args),
    recalls: (...args) => recalls(core, namespace, ...args),
    update: (...args) => update(core, namespace, ...args),
    updateMany: (...args) => updateMany(core, namespace, ...args),
    undoChange: (...args) => undoChange(core, namespace, ...args),
    forget: (...args) => forget(core, namespace, ...args),
    forgetMany: (...args) => forgetMany(core, namespace, ...args),
    consolidate: (...args) => consolidate(core, namespace, ...args),
    consolidations: (...args) => consolidations(core, namespace, ...args),
    consolidation: (...args) => consolidation(core, namespace, ...args),
    undo: (...args) => undo(core, namespace, ...args),
    corrections: (...args) => corrections(core, namespace, ...args),
    decideCorrection: (...args) => decideCorrection(core, namespace, ...args),
    events: (...args) => core.events.follow(core.seal, namespace, ...args),
    exportMemories: (...args) => exportMemories(core, namespace, ...args),
    importMemories: (...args) => importMemories(core, namespace, ...args),
    importTexts: (...args) => importTexts(core, namespace, ...args),
    imports: (...args) => imports(core, namespace, ...args),
    undoImport: (...args) => undoImport(core, namespace, ...args),
    stats: (request) => stats(core, namespace, scope, request),
  };
}

/** The API for the hooks of agent programs, which wait for each response. */
export interface HookApi extends MemoryApi {
  /**
   * Stores a memory as `MemoryApi.store`, but does not wait for its vectors. If the owner has a memory with the external
   * id, changes only the given fields that are in `changeable`, by default none. Other options are ignored.
   */
  store(request: StoreRequest, options?: HookStoreOptions): Promise<StoreResponse>;
  /** Returns a context as `MemoryApi.context`, within the limits of a program. */
  context(request: ContextRequest, options?: Pick<ContextOptions, 'maxChars' | 'signal'>): Promise<ContextResponse>;
}

interface HookStoreOptions extends StoreOptions {
  changeable?: readonly (keyof ChangedFields)[];
  /** The text is embedded once this resolves. It must not reject. */
  embedAfter?: Promise<void>;
}

/** Creates the API for the hooks of agent programs in one namespace. See `memoryApi`. */
export function hookApi(core: Core, namespace: string, keyId?: string): HookApi {
  return {
    ...memoryApi(core, namespace, 'write', keyId),
    store: (request, { changeable = [], embedAfter } = {}) =>
      storeAtOnce(core, namespace, request, changeable, embedAfter),
    context: (request, options) => context(core, namespace, request, { ...options, keyId }),
  };
}
